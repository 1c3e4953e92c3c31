"""Validates version 3."""

import ipaddress

LEVELS = ("error", "warning", "info", "debug", "trace")


def problems(settings):
    """Return what is wrong with version 3 settings, as texts `key: problem`."""
    found = []
    if settings.get("version") != 3:
        found.append(f"version: expected 3, found {settings.get('version')!r}")
    network = settings["network"]
    for number, interface in enumerate(network["interfaces"]):
        try:
            ipaddress.ip_interface(interface["address"])
        except ValueError:
            found.append(f"network.interfaces[{number}].address: {interface['address']!r} is no address with a prefix")
    for alert in settings["alerts"]:
        if not 0 < alert["above_percent"] < 100:
            found.append(f"alerts.{alert['when']}.above_percent: {alert['above_percent']} is not between 1 and 99")
    if settings["log"]["level"] not in LEVELS:
        found.append(f"log.level: {settings['log']['level']!r} is not one of {', '.join(LEVELS)}")
    return found
