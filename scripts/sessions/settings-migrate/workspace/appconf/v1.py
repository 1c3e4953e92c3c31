"""Version 1 → version 2."""

import configparser
import ipaddress

LEVELS = ["error", "warning", "info", "debug", "trace"]


def to_v2(text):
    """Return the settings of an ini file in the structure of version 2."""
    ini = configparser.ConfigParser()
    ini.read_string(text)
    result = {"version": 2, "net": {}, "volumes": {}, "alerts": {}}
    for section in ini.sections():
        values = ini[section]
        if section == "system":
            result["host"] = values["hostname"]
            result["dns"] = values.get("dns", "").split(" ")
        elif section.startswith("net."):
            prefix = ipaddress.ip_network(f"0.0.0.0/{values['mask']}").prefixlen
            result["net"][section[4:]] = {"ip": values["ip"], "prefix": prefix, "dhcp": values.getboolean("dhcp")}
        elif section.startswith("volume "):
            result["volumes"][section[7:]] = {"path": values["path"], "quota_mb": _megabytes(values["quota"])}
        elif section == "alerts":
            for when, value in values.items():
                limit, _, to = value.partition(" ")
                result["alerts"][when] = {"limit": int(limit), "to": to}
        elif section == "log":
            result["log"] = {"level": LEVELS[int(values["level"])], "keep": values["days"] + "d"}
    return result


def _megabytes(quota):
    if quota == "none":
        return 0
    number, unit = int(quota[:-1]), quota[-1]
    return number * 1000 if unit == "G" else number
