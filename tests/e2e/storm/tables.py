"""The tables of the storm, and what a writer does to them."""

# Few keys, so that rows meet: by their key, by a unique column, in another class or case.
SCRIPT = """
CREATE TABLE items(id INTEGER PRIMARY KEY, v, n INTEGER DEFAULT 0);
CREATE TABLE names(name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, tag INTEGER UNIQUE, v);
CREATE TABLE pairs(a NOT NULL, b TEXT NOT NULL, v REAL, PRIMARY KEY(a, b)) WITHOUT ROWID;
CREATE TABLE plain(x, y);
CREATE TABLE kept(id INTEGER PRIMARY KEY, v TEXT);
CREATE TABLE filler(x);
INSERT INTO plain VALUES(1, 1), (2, 2), (3, 3);
DELETE FROM plain WHERE x = 2;
"""
TABLES = ("items", "names", "pairs", "plain", "kept")


def value(rng):
    return rng.choice(["NULL", "1", "1.0", "-0.0", "9007199254740993", "1e300", "'text'", "'ß€😀'", "x'00ff'", "''", "x''",
                       str(rng.randrange(1000)), f"'{rng.randrange(1000)}'"])


def name(rng):
    text = rng.choice(["ab", "cd", "ef", "ß", "x y", ""]) + str(rng.randrange(6))
    return "'" + rng.choice([text, text.upper(), text.title()]) + "'"


def part(rng):
    number = rng.randrange(8)
    return rng.choice([f"{number}", f"{number}.0", f"'{number}'", f"x'0{number}'", f"{number}.5"])


def either(rng):
    return rng.choice(["INSERT", "INSERT OR REPLACE", "INSERT OR REPLACE", "INSERT OR IGNORE", "REPLACE"])


def statement(rng):
    """One statement of a writer; it may well break a constraint."""
    number, other = rng.randrange(1, 60), rng.randrange(1, 60)
    return rng.choice([
        lambda: f"{either(rng)} INTO items(id, v) VALUES({number}, {value(rng)})",
        lambda: f"INSERT INTO items(v) VALUES({value(rng)}), ({value(rng)})",
        lambda: f"UPDATE items SET v = {value(rng)}, n = n + 1 WHERE id BETWEEN {number} AND {number + 3}",
        lambda: f"UPDATE OR REPLACE items SET id = {other} WHERE id = {number}",
        lambda: f"UPDATE OR REPLACE items SET v = {value(rng)} WHERE id = {number}",
        lambda: f"DELETE FROM items WHERE id = {number} OR id > 80",
        lambda: f"INSERT INTO items(id, v) VALUES({number}, 'up') ON CONFLICT(id) DO UPDATE SET v = {value(rng)}",
        lambda: f"{either(rng)} INTO names(name, tag, v) VALUES({name(rng)}, {rng.randrange(20)}, {value(rng)})",
        lambda: f"UPDATE OR REPLACE names SET name = {name(rng)} WHERE name = {name(rng)}",
        lambda: f"UPDATE OR REPLACE names SET tag = {rng.randrange(20)} WHERE name = {name(rng)}",
        lambda: f"UPDATE names SET name = upper(name), v = {value(rng)} WHERE tag = {rng.randrange(20)}",
        lambda: f"DELETE FROM names WHERE name = {name(rng)}",
        lambda: f"{either(rng)} INTO pairs(a, b, v) VALUES({part(rng)}, {name(rng)}, {rng.random()})",
        lambda: f"UPDATE OR REPLACE pairs SET a = {part(rng)} WHERE a = {part(rng)}",
        lambda: f"UPDATE OR REPLACE pairs SET b = {name(rng)}, v = v + 1 WHERE a = {part(rng)}",
        lambda: f"DELETE FROM pairs WHERE a = {part(rng)}",
        lambda: f"INSERT INTO plain(x, y) VALUES({value(rng)}, {value(rng)})",
        lambda: f"UPDATE plain SET y = {value(rng)} WHERE rowid % 7 = {number % 7}",
        lambda: f"DELETE FROM plain WHERE rowid % 11 = {number % 11} OR rowid > 300",
        lambda: f"{either(rng)} INTO kept(id, v) VALUES({number % 20}, 'v{other}')",
        lambda: f"UPDATE kept SET v = v || '.' WHERE id % 5 = {number % 5} AND length(v) < 20",
        lambda: f"DELETE FROM kept WHERE id = {number % 20}",
    ])()
