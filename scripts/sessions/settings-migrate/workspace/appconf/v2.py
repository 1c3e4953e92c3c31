"""Version 2 → version 3."""


def to_v3(old):
    """Return version 2 settings in the structure of version 3."""
    return {
        "version": 3,
        "network": {
            "hostname": old["host"],
            "interfaces": [
                {"name": name, "address": f"{net['ip']}/{net['prefix']}", "dhcp": net["dhcp"]}
                for name, net in sorted(old["net"].items())
            ],
            "dns": old["dns"],
        },
        "storage": {
            "volumes": {
                name: {"path": volume["path"], "quota_bytes": volume["quota_mb"] * 1024**2 or None}
                for name, volume in old["volumes"].items()
            }
        },
        "alerts": [
            {"when": when, "above_percent": alert["limit"], "mail": alert["to"].split(";")}
            for when, alert in old["alerts"].items()
        ],
        "log": {"level": old["log"]["level"], "keep_days": _days(old["log"]["keep"])},
        "unknown": {},
    }


def _days(text):
    return int(text[:-1]) * (7 if text.endswith("w") else 1)
