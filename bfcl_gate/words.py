"""How every report counts."""


def count(number: int, noun: str) -> str:
    """Return "1 answer", "3,641 answers", "2 trajectories", "2 processes"."""
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {many}"
