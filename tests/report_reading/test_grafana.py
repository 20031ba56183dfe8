"""Runs the queries of the Grafana dashboard in SQLite, and checks the JSON that Grafana imports.

Grafana itself is not started."""
import json
import pathlib
import sqlite3

DASHBOARD = (pathlib.Path(__file__).resolve().parents[2] / "baselines" / "grafana" /
             "dashboard.json")
GRID = 24  # columns


def dashboard():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def test_every_query_is_answered(folder):
    database = sqlite3.connect(f"{(folder / 'runs.db').as_uri()}?mode=ro", uri=True)
    cases = [case for (case,) in database.execute("SELECT case_id FROM v_cases")]
    assert cases
    answered = 0
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            assert target["queryText"] == target["rawQueryText"]
            sql = target["queryText"].replace("$case", cases[0])
            assert "$" not in sql, sql
            cursor = database.execute(sql)
            columns = [column[0] for column in cursor.description]
            assert set(target["timeColumns"]) & set(columns) or target["queryType"] == "table", sql
            answered += len(cursor.fetchall()) > 0
    for variable in dashboard()["templating"]["list"]:
        database.execute(variable["query"])
    assert answered >= 6, "hardly a panel shows anything"


def test_dashboard_can_be_imported():
    board = dashboard()
    assert board["title"] and board["schemaVersion"] >= 36 and board["uid"]
    names = {given["name"] for given in board["__inputs"]}
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    taken = set()
    for panel in board["panels"]:
        assert panel["title"] and panel["description"] and panel["type"]
        assert panel["datasource"]["uid"].strip("${}") in names
        place = panel["gridPos"]
        assert 0 <= place["x"] and place["x"] + place["w"] <= GRID
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, f"{panel['title']} covers another panel"
        taken |= cells
