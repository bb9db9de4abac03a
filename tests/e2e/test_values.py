"""Every value arrives as it is: JSON that every parser takes, and nothing rounded, cut or guessed."""

import json

from harness.replica import Replica
from harness.tools import run_node

ODD = ("CREATE TABLE m(id TEXT PRIMARY KEY NOT NULL, v);"
       "INSERT INTO m VALUES('inf',9e999),('ninf',-9e999),('nan',9e999-9e999),('a'||char(0)||'b',1),('a'||char(0)||'c',2),"
       "(CAST(x'61ff62' AS TEXT),3),(CAST(x'eda080' AS TEXT),4),('quote',' \" \\ / '||char(8,9,10,12,13,127)),"
       "('astral',char(128512)),('bom',char(65279)),('separators',char(8232,8233)),('empty',''),('none',NULL),"
       "('blob',x'00ff'),('no bytes',x''),('null',x'00')")


def test_B29_values_that_json_cannot_carry_come_back_exactly(database, server):
    db = database(ODD)
    feed = server(db, "--watch", "m")
    replica = Replica().catch_up(feed)
    replica.assert_equals(db, "m")
    rows = {json.dumps(key["id"]): row["v"] for key, row in replica.rows("m").values()}
    assert rows['"inf"'] == {"real": "Infinity"} and rows['"ninf"'] == {"real": "-Infinity"} and rows['"nan"'] is None
    assert rows['"a\\u0000b"'] == 1 and rows['"a\\u0000c"'] == 2
    assert rows['{"text_hex": "61ff62"}'] == 3 and rows['{"text_hex": "eda080"}'] == 4
    assert rows['"blob"'] == {"blob_hex": "00ff"} and rows['"no bytes"'] == {"blob_hex": ""}
    db.run("UPDATE m SET v=id", "UPDATE m SET id=id||'!'")
    replica.catch_up(feed).assert_equals(db, "m")
    with feed.events(since=0) as stream:
        Replica().follow(stream).assert_equals(db, "m")
    with_rows = Replica()
    with_rows.read_again(feed, "m")
    with_rows.assert_equals(db, "m")


def test_B55_integers_beyond_2_53_survive_json_parse(database, server):
    numbers = [9007199254740991, 9007199254740992, 9007199254740993, -9007199254740993, -9223372036854775808, 9223372036854775807]
    values = ",".join(f"({n},{n},{n},{n})" for n in numbers)
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, num NUMERIC, txt TEXT, any);"
                  f"INSERT INTO t VALUES {values}")
    feed = server(db, "--watch", "t")
    Replica().catch_up(feed).assert_equals(db, "t")
    answer = feed.get_changes(since=0)
    script = "const a = JSON.parse(require('fs').readFileSync(0)); console.log(JSON.stringify(a.changes))"
    seen = json.loads(run_node(script, input=answer.body.decode()).stdout)
    assert len({str(c["key"]["id"]) for c in seen}) == len(numbers), "all keys stay distinct"
    by_key = {str(c["key"]["id"]): c["row"] for c in seen}
    assert by_key["9007199254740993"] == {"id": "9007199254740993", "num": "9007199254740993",
                                          "txt": "9007199254740993", "any": {"integer": "9007199254740993"}}
    assert by_key["9007199254740991"]["id"] == 9007199254740991
    assert by_key["-9223372036854775808"]["any"] == {"integer": "-9223372036854775808"}


def test_reals_read_back_the_same(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, r REAL, any)")
    numbers = [0.1, 1.0, 1e100, 5e-324, 1.7976931348623157e308, 2.2250738585072014e-308, 0.30000000000000004, 1e15, 1e16,
               123456789012345680.0, -1.5, 1 / 3, 9007199254740993.0, 1e22, 1e23]
    with db.connect() as c:
        for n in numbers:
            c.execute("INSERT INTO t(r, any) VALUES(?, ?)", (n, n))
        c.execute("INSERT INTO t(r, any) VALUES(-0.0, ?)", (-0.0,))
    feed = server(db, "--watch", "t")
    Replica().catch_up(feed).assert_equals(db, "t")
    text = feed.get_changes(since=0).body.decode()
    for written in ["0.1", "1.0", "5e-324", "0.30000000000000004"]:
        assert f'"r":{written}' in text, "the shortest that reads back the same, with a point or an exponent"


def test_each_affinity_and_class_comes_back_exactly(database, server):
    db = database('CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, "n" NUMERIC(10,2), x TEXT, b BLOB, r REAL, u, "d" DATETIME, "a b" VARCHAR(9))')
    samples = ["1", "1.0", "'1'", "'1e3'", "x'31'", "9007199254740993", "'9007199254740993'", "'007'", "''", "NULL", "-0.0",
               "'99999999999999999999'", "'+9007199254740993'", "' 9007199254740993'", "'9007199254740993.0'"]
    with db.connect() as c:
        for s in samples:
            c.execute(f"INSERT INTO t VALUES(NULL,{s},{s},{s},{s},{s},{s},{s},{s})")
    feed = server(db, "--watch", "t")
    Replica().catch_up(feed).assert_equals(db, "t")


def test_strict_tables_and_their_any(database, server):
    db = database("CREATE TABLE s(id INTEGER PRIMARY KEY, a ANY, i INT, x TEXT, b BLOB, r REAL) STRICT;"
                  "INSERT INTO s VALUES(1,'9007199254740993',9007199254740993,'9007199254740993',x'00',1),"
                  "(2,9007199254740993,-9007199254740993,'',x'',9e999)")
    feed = server(db, "--watch", "s")
    Replica().catch_up(feed).assert_equals(db, "s")
    assert {c["key"]["id"]: c["row"]["a"] for c in feed.changes(since=0)["changes"]} == {
        1: "9007199254740993", 2: {"integer": "9007199254740993"}}


def test_generated_columns_are_told(database, server):
    db = database("CREATE TABLE t(id INTEGER PRIMARY KEY, a, v AS (a*2), s AS (a||'!') STORED); INSERT INTO t(a) VALUES(4)")
    feed = server(db, "--watch", "t")
    replica = Replica().catch_up(feed)
    assert list(replica.rows("t").values())[0][1] == {"id": 1, "a": 4, "v": 8, "s": "4!"}
    db.run("UPDATE t SET a=5")
    replica.catch_up(feed).assert_equals(db, "t")


def test_the_members_of_a_key_come_in_key_order(database, server):
    db = database("CREATE TABLE t(v, k1, k2, PRIMARY KEY(k2, k1)) WITHOUT ROWID; INSERT INTO t VALUES('v','a','b')")
    feed = server(db, "--watch", "t")
    change, = feed.changes(since=0)["changes"]
    assert list(change["key"].items()) == [("k2", "b"), ("k1", "a")]
    assert change["row"] == {"v": "v", "k1": "a", "k2": "b"}


def test_names_of_any_bytes_are_told(database, server):
    names = ['a "quoted" name', "with\nline\rends", "ünï", "a.b,c/d?e&f%g+h", "data: x\n\nid: 9", "select"]
    db = database("".join('CREATE TABLE "{0}"(id INTEGER PRIMARY KEY, "{0} column");'.format(n.replace('"', '""')) for n in names))
    feed = server(db, *[part for n in names for part in ("--watch", n)])
    before = feed.cursor()
    for n in names:
        db.run('INSERT INTO "{0}"("{0} column") VALUES(1)'.format(n.replace('"', '""')))
    with feed.events(since=before) as stream:
        stream.start()
        delta = stream.delta()
    assert [c["table"] for c in delta["changes"]] == names
    for n in names:
        answer = feed.changes(since=before, table=n)
        assert [(c["table"], c["row"]) for c in answer["changes"]] == [(n, {"id": 1, f"{n} column": 1})]
        assert feed.rows(n)["table"] == n
        assert feed.rows(n)["rows"] == [{"key": {"id": 1}, "row": {"id": 1, f"{n} column": 1}}]


def test_hidden_columns_never_leave_the_house(database, server):
    db = database("CREATE TABLE u(id INTEGER PRIMARY KEY, name, secret, note); INSERT INTO u VALUES(1,'n','hush','x');"
                  "CREATE TABLE o(id INTEGER PRIMARY KEY, a, b, c); INSERT INTO o VALUES(1,'pa','hush','pc')")
    feed = server(db, "--watch", "u", "--watch", "o", "--hide", "u.secret", "--only", "o:a,c")
    db.run("UPDATE u SET secret='hush2'", "UPDATE o SET b='hush2'")
    assert {c["table"]: c["row"] for c in feed.changes(since=0)["changes"]} == {
        "u": {"id": 1, "name": "n", "note": "x"}, "o": {"id": 1, "a": "pa", "c": "pc"}}
    with feed.events(since=1) as stream:
        stream.start()
        stream.quiet(0.2)
        raw = stream.raw
    for target in ["/changes?since=0", "/changes?since=1", "/rows/u", "/rows/o", "/tables", "/status"]:
        raw += feed.get(target).body
    assert b"hush" not in raw
    assert b"secret" not in feed.get("/tables").body + feed.get("/rows/u").body
