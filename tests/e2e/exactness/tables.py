"""Tables drawn at random: every kind of key, of unique index and of owner's trigger, and what a generator must know."""

import random
from dataclasses import dataclass, field

from harness.values import affinity, quoted

from .literals import POOLS

CONFLICTS = ["ABORT", "FAIL", "IGNORE", "REPLACE", "ROLLBACK"]


@dataclass
class Column:
    name: str
    declared: str
    pool: str  # which literals it is given
    rest: str = ""  # constraints, collation, default
    generated: bool = False


@dataclass
class Table:
    name: str
    columns: list[Column]
    key: list[str] = field(default_factory=list)  # the feed's key; empty: the rowid
    primary: list[str] = field(default_factory=list)  # the declared primary key
    has_rowid: bool = True
    rowid_alias: bool = False
    constraints: list[str] = field(default_factory=list)
    suffix: list[str] = field(default_factory=list)
    indexes: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)  # conflict targets of upserts, without the parentheses around them
    triggers: list[str] = field(default_factory=list)
    no_upsert: bool = False  # see takes_away
    unsound: bool = False
    growing: bool = False  # AUTOINCREMENT: keys grow, so it is emptied more often

    @property
    def sql_name(self) -> str:
        return quoted(self.name)

    @property
    def strict(self) -> bool:
        return "STRICT" in self.suffix

    @property
    def settable(self) -> list[Column]:
        return [c for c in self.columns if not c.generated]

    def column(self, name: str) -> Column:
        return next(c for c in self.columns if c.name == name)

    @property
    def rowid_name(self) -> str:
        taken = {c.name.lower() for c in self.columns}
        return next(n for n in ("rowid", "_rowid_", "oid") if n not in taken)

    @property
    def key_members(self) -> list[str]:
        return self.key or [self.rowid_name]

    def affinities(self) -> dict[str, str]:
        return {c.name: affinity(c.declared, self.strict) for c in self.columns} | (
            {} if self.key else {self.rowid_name: "INTEGER"})

    def create(self) -> list[str]:
        parts = [f"{quoted(c.name)} {c.declared} {c.rest}".strip() for c in self.columns] + self.constraints
        return [f"CREATE TABLE {self.sql_name}({', '.join(parts)}) {', '.join(self.suffix)}".strip(), *self.indexes,
                *self.triggers]

    def same_row(self, image: str) -> str:
        """A condition that finds the row of NEW or OLD, in an owner's trigger."""
        if not self.key:
            return f"{self.rowid_name} = {image}.{self.rowid_name}"
        return " AND ".join(f"{quoted(k)} IS {image}.{quoted(k)}" for k in self.key)


NAMES = ["t", "new", "old", "select", 'a"b', "it's", "sp ace", "Ünï", "x.y", "table", "log", "T-1", "a,b", "NULL", "%s"]
PLAIN = ["v", "w w", 'q"t', "key", "op", "seq", "at_ms", "lf_row", "value", "group", "[x]", "Straße"]


def random_tables(rng: random.Random, count: int) -> list[Table]:
    return [random_table(rng, name) for name in rng.sample(NAMES, count)]


def random_table(rng: random.Random, name: str) -> Table:
    t = rng.choice(KEYS)(rng, name)
    plain = rng.sample(PLAIN, 2)
    t.columns += [
        Column("n", "INTEGER", "integer"),
        Column("s", "ANY" if t.strict else "TEXT", "text"),
        Column("c", "INTEGER", "integer", "DEFAULT 0"),
        Column(plain[0], "ANY" if t.strict else "", "wide"),
        Column(plain[1], "TEXT" if t.strict else rng.choice(["", "TEXT", "NUMERIC", "BLOB"]),
               "text" if t.strict else "wide"),
    ]
    if rng.random() < 0.1 and "rowid" not in t.primary:
        t.columns.append(Column(rng.choice(["rowid", "oid"]), "INTEGER", "integer"))
    if rng.random() < 0.15:
        t.columns.append(Column("e", "TEXT" if t.strict else "", "wide", "NOT NULL DEFAULT 'e'"))
    if rng.random() < 0.15:
        t.constraints.append("CHECK(n IS NULL OR n <> 13)")
    for unique in rng.sample(UNIQUES, rng.choice([0, 1, 1, 2, 2, 3])):
        unique(rng, t)
    rng.shuffle(t.columns)
    # A plain conflict target for each set of key columns as well.
    if t.primary:
        t.targets.append(", ".join(quoted(k) for k in t.primary))
    if name.lower() not in ("new", "old"):
        for trigger in rng.sample(TRIGGERS, rng.choice([0, 0, 1, 1, 2, 3])):
            trigger(rng, t)
    return t


def on_conflict(rng: random.Random) -> str:
    return f" ON CONFLICT {rng.choice(CONFLICTS)}" if rng.random() < 0.3 else ""


# --- keys -------------------------------------------------------------------------------------------------------------

def integer_key(rng, name):
    t = Table(name, [], ["id"], ["id"], rowid_alias=True)
    grows = rng.random() < 0.2
    t.growing = grows
    t.columns = [Column("id", rng.choice(["INTEGER", "integer", "Integer"]), "rowid",
                        f"PRIMARY KEY{' ASC' if rng.random() < .2 else ''}{on_conflict(rng)}" +
                        (" AUTOINCREMENT" if grows else ""))]
    return t


def integer_key_at_end(rng, name):
    t = Table(name, [Column("id", "INTEGER", "rowid")], ["id"], ["id"], rowid_alias=True)
    t.constraints = [f"PRIMARY KEY(id{rng.choice(['', ' DESC', ' ASC'])}){on_conflict(rng)}"]
    return t


def rowid_only(rng, name):
    return Table(name, [Column("a", "TEXT", "text")])


def integer_key_desc(rng, name):
    null = rng.random() < 0.5
    t = Table(name, [Column("id", "INTEGER", "number", "PRIMARY KEY DESC" + ("" if null else " NOT NULL"))],
              [] if null else ["id"], ["id"])
    return t


TYPES = [("TEXT", "text"), ("VARCHAR(10)", "text"), ("BLOB", "blob"), ("REAL", "real"), ("DOUBLE", "real"),
         ("NUMERIC", "number"), ("DECIMAL(10,2)", "number"), ("", "anything"), ("INT", "integer"),
         ("FLOATING POINT", "number")]


def collation(rng) -> str:
    return rng.choice(["", "", " COLLATE NOCASE", " COLLATE NOCASE", " COLLATE RTRIM", " COLLATE BINARY"])


def typed_key(rng, name):
    declared, pool = rng.choice(TYPES + [("TEXT", "text"), ("", "anything")])
    without_rowid, null = rng.random() < 0.35, rng.random() < 0.2
    t = Table(name, [], ["id"] if without_rowid or not null else [], ["id"], has_rowid=not without_rowid)
    default = rng.choice([""] * 4 + [" DEFAULT 'd'", " DEFAULT 7"]) if not null else ""
    t.columns = [Column("id", declared, pool, ("" if null else "NOT NULL") + default + collation(rng) +
                        f" PRIMARY KEY{rng.choice(['', ' DESC'])}{on_conflict(rng)}")]
    t.suffix = ["WITHOUT ROWID"] if without_rowid else []
    return t


def strict_key(rng, name):
    t = typed_key(rng, name)
    t.key = ["id"]  # in a STRICT table the columns of the primary key are NOT NULL
    t.columns[0].declared, t.columns[0].pool = "ANY", "anything"
    t.suffix.append("STRICT")
    return t


def composite_key(rng, name):
    names = ["k1", "k 2", "k3"][:rng.choice([2, 2, 3])]
    without_rowid, null = rng.random() < 0.45, rng.random() < 0.15
    t = Table(name, [], has_rowid=not without_rowid)
    for n in names:
        declared, pool = rng.choice(TYPES)
        t.columns.append(Column(n, declared, pool, ("" if null else "NOT NULL") + collation(rng)))
    if rng.random() < 0.5:
        t.columns[0].declared, t.columns[0].pool = "", "bit"
    t.primary = list(names)
    rng.shuffle(t.primary)
    t.key = t.primary if without_rowid or not null else []
    parts = [quoted(n) + collation(rng) + rng.choice(["", " DESC"]) for n in t.primary]
    t.constraints = [f"PRIMARY KEY({', '.join(parts)}){on_conflict(rng)}"]
    t.suffix = ["WITHOUT ROWID"] if without_rowid else []
    # With a collation of its own in the index, a plain list of columns is no conflict target.
    t.targets = [", ".join(p.replace(" DESC", "") for p in parts)]
    return t


def twelve_key(rng, name):
    names = [f"k{i}" for i in range(1, 13)]
    without_rowid = rng.random() < 0.5
    t = Table(name, [Column(n, rng.choice(["", "TEXT", "INTEGER"]), "bit", "NOT NULL DEFAULT 0") for n in names],
              names, names, has_rowid=not without_rowid)
    t.constraints = [f"PRIMARY KEY({', '.join(names)}){on_conflict(rng)}"]
    t.suffix = ["WITHOUT ROWID"] if without_rowid else []
    return t


KEYS = [integer_key, integer_key, integer_key_at_end, rowid_only, integer_key_desc, typed_key, typed_key, typed_key,
        strict_key, composite_key, composite_key, twelve_key]


# --- unique indexes ---------------------------------------------------------------------------------------------------

def index(t, what, where=""):
    n = len(t.indexes)
    t.indexes.append(f"CREATE UNIQUE INDEX {quoted(f'{t.name} u{n}')} ON {t.sql_name}({what})" +
                     (f" WHERE {where}" if where else ""))
    t.targets.append(what.replace(" DESC", "") + (f") WHERE ({where}" if where else ""))


def unique_column(rng, t):
    declared, pool = ("ANY", "anything") if t.strict else rng.choice(TYPES)
    t.columns.append(Column("u1", declared, pool, f"UNIQUE{on_conflict(rng)}{collation(rng)}"))
    t.targets.append("u1")


def unique_with_default(rng, t):
    declared, pool, default = rng.choice([
        ("TEXT", "text", "'d'"), ("INTEGER", "integer", "7"), ("INTEGER", "integer", "-1"), ("REAL", "real", "1.5"),
        ("INTEGER", "integer", "'7'"), ("TEXT", "text", "7"), ("", "anything", "x'31'"), ("NUMERIC", "number", "'1.0'"),
        ("", "anything", "'it''s'"), ("", "anything", "(1)"), ("TEXT", "text", "''")])
    if t.strict:
        declared, pool, default = "ANY", "anything", "'d'"
    t.columns.append(Column("u2", declared, pool, f"NOT NULL{rng.choice(['', ' ON CONFLICT REPLACE'])} "
                                                  f"DEFAULT {default}{collation(rng)} UNIQUE{on_conflict(rng)}"))
    t.targets.append("u2")


def unique_collated(rng, t):
    index(t, rng.choice(["s COLLATE NOCASE", "s COLLATE RTRIM", "s", "s COLLATE NOCASE DESC", "n, s COLLATE NOCASE"]))


def unique_partial(rng, t):
    what, where = rng.choice([
        ("n", "n > 3"), ("n", "s IS NOT NULL"), ("s", "n IN (1, 3, 5, 7)"), ("s", "c = 0"), ("n, s", "c > 2"),
        ("s", "typeof(s) = 'text'"), ("n", "n IS NOT NULL"), ("s COLLATE NOCASE", "s > 'c'"), ("c", "n = 4"),
        ("n", "s LIKE 'a%'"), ("s", "s = 'a' OR s = 'b' OR s = 'c'")])
    index(t, what, where)


def unique_expression(rng, t):
    index(t, *rng.choice([
        ("lower(s)", ""), ("s || n", ""), ("abs(n)", ""), ("n % 5, s", ""), ("coalesce(s, n)", ""),
        ("length(s), n", ""), ("CASE WHEN n > 3 THEN s END", ""), ("substr(s, 1, 1), c", ""), ("hex(s)", "n < 7"),
        ("lower(s), n", "c < 5"), ("upper(s) COLLATE RTRIM", ""), ("n * 2 + c", "n > 1"), ("s, n - c", "")]))


def unique_generated(rng, t):
    kind = rng.choice(["VIRTUAL", "STORED"])
    declared, text = rng.choice([("INTEGER", "n % 6"), ("TEXT", "lower(s)"), ("TEXT", "s || '-' || n"),
                                 ("TEXT", "n"), ("INTEGER", "n + c"), ("TEXT", "rtrim(s)")])
    if rng.random() < 0.5:
        t.columns.append(Column("g1", declared, "", f"{'' if t.strict else collation(rng)} AS ({text}) {kind} UNIQUE",
                                generated=True))
        t.targets.append("g1")
    else:
        t.columns.append(Column("g1", declared, "", f"AS ({text}) {kind}", generated=True))
        t.columns.append(Column("g2", "TEXT", "", f"AS (g1 || 'x') {rng.choice(['VIRTUAL', 'STORED'])}", generated=True))
        what, where = rng.choice([("g2", ""), ("g2", "g1 IS NOT NULL"), ("s", "g1 > 2"), ("g1, s", ""), ("g2 || c", "")])
        index(t, what, where)


def unique_pair(rng, t):
    if rng.random() < 0.5:
        t.constraints.append(f"UNIQUE(n, s){on_conflict(rng)}")
        t.targets.append("n, s")
    else:
        index(t, rng.choice(["s DESC, n", "n, c, s", "c, s COLLATE NOCASE"]))


def unique_twelve(rng, t):
    names = [f"x{i}" for i in range(1, 13)]
    t.columns += [Column(n, rng.choice(["INT", "TEXT"]), "bit", "DEFAULT 1") for n in names]
    if rng.random() < 0.5:
        t.constraints.append(f"UNIQUE({', '.join(names)}){on_conflict(rng)}")
        t.targets.append(", ".join(names))
    else:
        index(t, ", ".join(names))


def unique_with_key(rng, t):
    if t.primary:
        index(t, f"s, {quoted(t.primary[0])}")


UNIQUES = [unique_column, unique_with_default, unique_collated, unique_partial, unique_expression, unique_generated,
           unique_pair, unique_twelve, unique_with_key]


# --- the owner's triggers ---------------------------------------------------------------------------------------------
# Each fires for some values of n only and moves n on, so that recursive_triggers does not make it run for ever.

def trigger(t, when, condition, body):
    name = quoted(f"{t.name} own {len(t.triggers)}")
    t.triggers.append(f"CREATE TRIGGER {name} {when} ON {t.sql_name} WHEN {condition} BEGIN {body}; END")


def takes_away(t, event):
    """A BEFORE trigger that moves or deletes the very row, or others: with REPLACE under recursive_triggers SQLite 3.40 then
    can corrupt the file (indexes without entries), and with DO UPDATE it does (rowids out of order)."""
    t.unsound |= event.startswith("BEFORE")
    t.no_upsert |= event == "BEFORE UPDATE"
    return event


def new_key(rng, t, image) -> str:
    """An assignment that moves the row of `image` to another key."""
    if not t.key:
        return f"{t.rowid_name} = {image}.{t.rowid_name} + 50"
    k = rng.choice(t.key)
    if t.rowid_alias:
        return rng.choice([f"{quoted(k)} = {quoted(k)} + 50", f"{quoted(k)} = -{quoted(k)}"])
    return f"{quoted(k)} = {POOLS[t.column(k).pool](rng)}"


def stamps_own_row(rng, t):
    event = rng.choice(["AFTER INSERT", "AFTER INSERT", "AFTER UPDATE OF n, s"])
    trigger(t, event, "NEW.c IS NULL OR NEW.c < 20", f"UPDATE {t.sql_name} SET c = 20 WHERE {t.same_row('NEW')}")


def changes_own_unique(rng, t):
    trigger(t, "AFTER INSERT", "NEW.n > 5", f"UPDATE {t.sql_name} SET n = 2, s = s || 'x' WHERE {t.same_row('NEW')}")


def moves_after_insert(rng, t):
    trigger(t, "AFTER INSERT", "NEW.n = 4", f"UPDATE {t.sql_name} SET n = 1, {new_key(rng, t, 'NEW')} WHERE {t.same_row('NEW')}")


def removes_after_write(rng, t):
    trigger(t, rng.choice(["AFTER INSERT", "AFTER UPDATE"]), "NEW.n = 7", f"DELETE FROM {t.sql_name} WHERE {t.same_row('NEW')}")


def puts_back(rng, t):
    """An AFTER DELETE that inserts the row again, with another n."""
    names = [k for k in t.key] or [t.rowid_name]
    other = [c.name for c in t.settable if c.name not in names and c.name not in ("n", "c")]
    columns = names + other
    verb = rng.choice(["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE"])
    trigger(t, rng.choice(["AFTER DELETE", "BEFORE DELETE"]), "OLD.n = 3",
            f"{verb} INTO {t.sql_name}(n, c, {', '.join(map(quoted, columns))}) "
            f"VALUES(9, 1, {', '.join('OLD.' + quoted(c) for c in columns)})")


def removes_others(rng, t):
    event, image = rng.choice([("AFTER DELETE", "OLD"), ("BEFORE INSERT", "NEW"), ("AFTER INSERT", "NEW"),
                               ("BEFORE UPDATE", "NEW"), ("BEFORE UPDATE", "OLD"), ("BEFORE DELETE", "OLD")])
    takes_away(t, event)
    trigger(t, event, f"{image}.n = 2", f"DELETE FROM {t.sql_name} WHERE n = {rng.choice([1, 2, 5])} AND NOT ({t.same_row(image)})")


def removes_in_its_way(rng, t):
    trigger(t, takes_away(t, rng.choice(["BEFORE INSERT", "BEFORE UPDATE"])), "NEW.n % 2 = 0",
            f"DELETE FROM {t.sql_name} WHERE s = NEW.s AND n = NEW.n")


def removes_itself(rng, t):
    event = takes_away(t, rng.choice(["BEFORE UPDATE", "BEFORE DELETE"]))
    trigger(t, event, "OLD.n = 6", f"DELETE FROM {t.sql_name} WHERE {t.same_row('OLD')}")


def moves_before(rng, t):
    event = takes_away(t, rng.choice(["BEFORE UPDATE", "BEFORE DELETE"]))
    trigger(t, event, "OLD.n = 5", f"UPDATE {t.sql_name} SET n = 1, {new_key(rng, t, 'OLD')} WHERE {t.same_row('OLD')}")


def writes_before(rng, t):
    event = rng.choice(["BEFORE UPDATE", "BEFORE DELETE"])
    trigger(t, event, "OLD.c < 5", f"UPDATE {t.sql_name} SET c = 5 WHERE {t.same_row('OLD')}")


def shifts_before_insert(rng, t):
    trigger(t, "BEFORE INSERT", "NEW.n = 3", f"UPDATE {t.sql_name} SET n = n + 1 WHERE n < 3")


def takes_the_place(rng, t):
    """A BEFORE INSERT that inserts the very key first."""
    if not t.key or t.rowid_alias:
        return
    trigger(t, "BEFORE INSERT", "NEW.n = 8",
            f"INSERT OR IGNORE INTO {t.sql_name}({', '.join(map(quoted, t.key))}, n) "
            f"VALUES({', '.join('NEW.' + quoted(k) for k in t.key)}, 0)")


def refuses(rng, t):
    event = rng.choice(["BEFORE", "AFTER"]) + " " + rng.choice(["INSERT", "UPDATE", "DELETE"])
    image = "OLD" if event.endswith("DELETE") else "NEW"
    what = rng.choice(["IGNORE", "IGNORE", "FAIL, 'no'", "ABORT, 'no'", "ROLLBACK, 'no'"])
    trigger(t, event, f"{image}.n = {rng.choice([0, 1, 9])}", f"SELECT RAISE({what})")


TRIGGERS = [stamps_own_row, stamps_own_row, changes_own_unique, moves_after_insert, removes_after_write, puts_back,
            removes_others, removes_in_its_way, removes_itself, moves_before, writes_before, shifts_before_insert,
            takes_the_place, refuses, refuses]


# --- tables that refer to each other ----------------------------------------------------------------------------------

def family(rng: random.Random) -> list[Table]:
    """A parent, a child and a tree whose foreign keys have actions; keys of children change by cascade."""
    def action():
        return rng.choice(["CASCADE", "CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"])

    def deferred():
        return rng.choice(["", "", " DEFERRABLE INITIALLY DEFERRED"])

    kind = rng.choice(["integer", "text", "unique"])
    declared, pool = ("INTEGER", "rowid") if kind == "integer" else ("TEXT", "text")
    nocase = " COLLATE NOCASE" if kind == "text" and rng.random() < 0.3 else ""
    parent = Table("parent", [Column("id", declared, pool, f"NOT NULL{nocase} PRIMARY KEY")], ["id"], ["id"],
                   rowid_alias=kind == "integer", targets=["id"])
    parent.columns += [Column("n", "INTEGER", "integer"), Column("r", "TEXT", "text", "UNIQUE"),
                       Column("s", "TEXT", "wide"), Column("c", "INTEGER", "integer", "DEFAULT 0")]
    parent.targets.append("r")
    wanted = ("r", "TEXT", "text") if kind == "unique" else ("id", declared, pool)
    reference = (f"REFERENCES parent({wanted[0]}) ON DELETE {action()} ON UPDATE {action()}{deferred()}")

    in_key = rng.random() < 0.5
    child = Table("child", [Column("id", "INTEGER", "rowid"), Column("p", wanted[1], wanted[2], f"DEFAULT 1 {reference}"),
                            Column("n", "INTEGER", "integer"), Column("s", "TEXT", "wide"),
                            Column("c", "INTEGER", "integer", "DEFAULT 0")])
    if in_key:  # ON UPDATE CASCADE moves the child's own key
        child.columns[0].rest = child.columns[1].rest = "NOT NULL"
        child.columns[1].rest += f" DEFAULT 1 {reference}"
        child.columns[0].pool = "integer"
        child.primary = child.key = ["p", "id"]
        child.constraints = ["PRIMARY KEY(p, id)"]
        child.has_rowid = rng.random() < 0.5
        child.suffix = [] if child.has_rowid else ["WITHOUT ROWID"]
        child.targets = ["p, id"]
    else:
        child.columns[0].rest = "PRIMARY KEY"
        child.primary = child.key = ["id"]
        child.rowid_alias = True
        child.targets = ["id"]
        if rng.random() < 0.4:
            index(child, "p, n")

    tree = Table("tree", [Column("id", "INTEGER", "rowid", "PRIMARY KEY"),
                          Column("up", "INTEGER", "rowid", f"DEFAULT 1 REFERENCES tree(id) ON DELETE {action()} "
                                                           f"ON UPDATE {rng.choice(['CASCADE', 'CASCADE', action()])}{deferred()}"),
                          Column("n", "INTEGER", "integer"), Column("s", "TEXT", "text"),
                          Column("c", "INTEGER", "integer", "DEFAULT 0")], ["id"], ["id"], rowid_alias=True, targets=["id"])
    own = Table("self", [Column("id", "INTEGER", "rowid", "PRIMARY KEY REFERENCES self(up) ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED"),
                         Column("up", "INTEGER", "rowid", "UNIQUE REFERENCES self(id) ON UPDATE CASCADE ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED"),
                         Column("n", "INTEGER", "integer"), Column("s", "TEXT", "text"),
                         Column("c", "INTEGER", "integer", "DEFAULT 0")], ["id"], ["id"], rowid_alias=True, targets=["id", "up"])
    chosen = [parent, child, tree] + ([own] if rng.random() < 0.3 else [])
    for t in chosen:
        for own_trigger in rng.sample(TRIGGERS, rng.choice([0, 0, 1])):
            own_trigger(rng, t)
    return chosen
