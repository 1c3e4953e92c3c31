from memo.cache import Cache

__all__ = ["Cache"]
