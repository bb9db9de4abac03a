"""Short words for what an answer says, so that a test reads like a table."""


def told(answer, table=None):
    """[(op, key value, …)] in the order told; with `table`, of that table only."""
    out = []
    for change in answer["changes"]:
        if table is None or change["table"] == table:
            out.append((change["op"], *change.get("key", {}).values()))
    return out


def keys(answer):
    return [tuple(change["key"].values()) for change in answer["changes"]]


def all_changes(feed, since, **parameters):
    """The changes of a whole run, its pages joined, and the last page."""
    changes = []
    while True:
        page = feed.changes(since=since, **parameters)
        changes += page["changes"]
        since = page["cursor"]
        if not page["more"]:
            return changes, page


def raise_floor(database, to_cursor):
    """Compacts by hand: entries up to the stamp of a cursor below the head are gone, its check is kept."""
    stamp, check = to_cursor.split("-")
    database.commit(
        f"DELETE FROM litefeed_log WHERE seq <= {int(stamp)}",
        f"UPDATE litefeed_meta SET floor = {int(stamp)}, floor_digest = {int(check[8:], 16)}")
