import json
from pathlib import Path

from appconf.cli import main, migrated

SAMPLES = Path(__file__).parent.parent / "samples"


def test_a_version_2_file_becomes_version_3():
    new = migrated(SAMPLES / "office_v2.json")
    assert new["network"]["hostname"] == "box-büro"
    assert new["log"] == {"level": "info", "keep_days": 14}


def test_a_version_3_file_stays_as_it_is(tmp_path):
    assert main(["migrate", str(SAMPLES / "lab_v3.json"), str(tmp_path / "out.json")]) == 0
    assert json.loads((tmp_path / "out.json").read_text("utf-8")) == json.loads((SAMPLES / "lab_v3.json").read_text("utf-8"))
