"""Random SQL: a stream of transactions, drawn from a number alone, so that it can be run again anywhere."""

import random

from harness.values import quoted

from .literals import POOLS
from .tables import CONFLICTS, Column, Table


class Generator:
    def __init__(self, rng: random.Random, tables: list[Table], single: bool, one_row: bool = False):
        self.rng, self.tables, self.one_row = rng, tables, one_row
        self.single = single  # one writer: its pragmas may change between transactions

    def transaction(self) -> list[str]:
        rng = self.rng
        r = rng.random()
        if r < 0.55:
            return [self.statement()]
        if r < 0.60 and self.single and not self.one_row:
            return [f"PRAGMA recursive_triggers = {rng.choice(['ON', 'OFF'])}", self.statement()]
        if r < 0.62 and not self.one_row:
            return self.bulk()
        return self.block()

    def block(self) -> list[str]:
        rng = self.rng
        out = [rng.choice(["BEGIN", "BEGIN IMMEDIATE", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])]
        if rng.random() < 0.1:
            out.append("PRAGMA defer_foreign_keys = ON")
        depth = 0
        for _ in range(rng.choice([1, 2, 3, 4, 6, 9, 14])):
            r = rng.random()
            if r < 0.10:
                depth += 1
                out.append(f"SAVEPOINT s{depth}")
            elif r < 0.16 and depth:
                out.append(f"ROLLBACK TO s{rng.randrange(1, depth + 1)}")
            elif r < 0.20 and depth:
                level = rng.randrange(1, depth + 1)
                out.append(f"RELEASE s{level}")
                depth = level - 1
            out.append(self.statement())
        out.append("COMMIT" if rng.random() < 0.85 else "ROLLBACK")
        return out

    def bulk(self) -> list[str]:
        """Many rows by one statement, and sometimes most of them away again."""
        t, rng = self.table(), self.rng
        fill = [c for c in t.settable if c.name in t.primary or "UNIQUE" in c.rest or c.name in ("n", "s")]
        values = [f"{'i * 3' if c.name == 'n' else self.spread(c)}" for c in fill]
        out = [f"WITH RECURSIVE f(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM f WHERE i < {rng.choice([110, 130, 180])}) "
               f"INSERT{self.verb()} INTO {t.sql_name}({', '.join(quoted(c.name) for c in fill)}) "
               f"SELECT {', '.join(values)} FROM f"]
        if rng.random() < 0.5:
            out.append(f"UPDATE {t.sql_name} SET c = coalesce(c, 0) + 1 WHERE n >= 300")
        if rng.random() < 0.8:
            out.append(f"DELETE FROM {t.sql_name} WHERE n >= {rng.choice([300, 300, 310, 400])}")
        return ["BEGIN IMMEDIATE", *out, "COMMIT"] if rng.random() < 0.3 else out

    @staticmethod
    def spread(c: Column) -> str:
        if c.pool == "text":
            return f"'{'q' * 250}' || i"
        return "i % 2" if c.pool == "bit" else "i"

    def statement(self) -> str:
        rng = self.rng
        t = self.table()
        if rng.random() < (0.008 if not t.growing else 0.05):
            return f"DELETE FROM {t.sql_name}"
        make = rng.choices(
            [self.insert, self.upsert, self.insert_select, self.update, self.update_key, self.swap, self.update_from,
             self.delete, self.put_back],
            [30, 10, 9, 18, 10, 3, 5, 8, 3])[0]
        if self.one_row and make in (self.swap, self.update_from, self.put_back):
            make = self.update_key
        if t.no_upsert and make == self.upsert:
            make = self.insert
        sql = make(t)
        if rng.random() < 0.25 and " RETURNING " not in sql:
            sql += f" RETURNING {self.returned(t)}"
        return sql

    # --- parts --------------------------------------------------------------------------------------------------------

    def table(self) -> Table:
        return self.rng.choice(self.tables)

    def verb(self) -> str:
        return f" OR {self.rng.choice(CONFLICTS + ['REPLACE', 'REPLACE', 'IGNORE'])}" if self.rng.random() < 0.6 else ""

    def value(self, c: Column) -> str:
        rng = self.rng
        if rng.random() < 0.05:
            return "NULL"
        return POOLS[c.pool](rng)

    def chosen(self, t: Table, least: float = 0.6) -> list[Column]:
        """Some columns to write, most often with the key."""
        rng = self.rng
        out = [c for c in t.settable if rng.random() < (0.9 if c.name in t.primary else least)]
        return out or [t.settable[0]]

    def returned(self, t: Table) -> str:
        return self.rng.choice(["*", ", ".join(quoted(k) for k in t.key_members), "n, s", "c"])

    def where(self, t: Table) -> str:
        rng = self.rng
        r = rng.random()
        if self.one_row:
            return self.row(t)
        if r < 0.45 and t.primary:
            return " AND ".join(f"{quoted(k)} {rng.choice(['=', '=', 'IS'])} {self.value(t.column(k))}" for k in t.primary)
        if r < 0.55 and t.has_rowid:
            return f"{t.rowid_name} {rng.choice(['=', '=', '<', '>'])} {rng.randrange(1, 40)}"
        if r < 0.70:
            return f"n = {rng.randrange(10)}"
        if r < 0.78:
            c = rng.choice(t.columns)
            return f"{quoted(c.name)} = {POOLS[c.pool](rng) if c.pool else POOLS['integer'](rng)}"
        if r < 0.84:
            return f"n IN ({rng.randrange(10)}, {rng.randrange(10)}) AND c < {rng.randrange(10)}"
        if r < 0.92:
            k = quoted(rng.choice(t.key_members))
            return (f"{k} IN (SELECT {k} FROM {t.sql_name} ORDER BY {k}, typeof({k}) "
                    f"LIMIT {rng.randrange(1, 4)} OFFSET {rng.randrange(12)})")
        if r < 0.97:
            return f"s >= {self.value(t.column('s'))} AND n > 4"
        return "1"

    def row(self, t: Table) -> str:
        if not t.key:
            return f"{t.rowid_name} = {self.rng.randrange(1, 40)}"
        return " AND ".join(f"{quoted(k)} IS {self.value(t.column(k))}" for k in t.key)

    def sets(self, t: Table, columns: list[Column]) -> str:
        rng = self.rng
        out = []
        for c in columns:
            r = rng.random()
            name = quoted(c.name)
            if c.pool in ("integer", "number", "rowid", "real") and r < 0.3:
                out.append(f"{name} = {name} {rng.choice(['+ 1', '- 1', '* 2', '+ 0', '+ n % 3'])}")
            elif c.pool == "text" and r < 0.2:
                out.append(f"{name} = {rng.choice([f'upper({name})', f'lower({name})', name + ' || 1', f'rtrim({name})', name])}")
            elif r < 0.35:
                out.append(f"{name} = {name}")
            else:
                out.append(f"{name} = {self.value(c)}")
        return ", ".join(out)

    def some(self, t: Table) -> list[Column]:
        plain = [c for c in t.settable if c.name not in t.primary]
        return self.rng.sample(plain, self.rng.choice([1, 1, 2, 2, 3]))

    # --- kinds --------------------------------------------------------------------------------------------------------

    def insert(self, t: Table) -> str:
        rng = self.rng
        if rng.random() < 0.02:
            return f"INSERT{self.verb()} INTO {t.sql_name} DEFAULT VALUES"
        columns = self.chosen(t)
        names = [quoted(c.name) for c in columns]
        by_rowid = t.has_rowid and not t.rowid_alias and rng.random() < (0.5 if not t.key else 0.15)
        if by_rowid:
            names.append(t.rowid_name)
        rows = []
        for _ in range(rng.choice([1, 1, 1, 1, 2, 2, 3, 5])):
            rows.append("(" + ", ".join([self.value(c) for c in columns] + ([str(rng.randrange(1, 40))] if by_rowid else [])) + ")")
        head = "REPLACE" if rng.random() < 0.2 else f"INSERT{self.verb()}"
        return f"{head} INTO {t.sql_name}({', '.join(names)}) VALUES {', '.join(rows)}"

    def upsert(self, t: Table) -> str:
        rng = self.rng
        columns = self.chosen(t)
        rows = ["(" + ", ".join(self.value(c) for c in columns) + ")" for _ in range(rng.choice([1, 1, 2, 3]))]
        out = f"INSERT{self.verb() if rng.random() < .2 else ''} INTO {t.sql_name}({', '.join(quoted(c.name) for c in columns)}) VALUES {', '.join(rows)}"
        # SQLite 3.40.1 can leave an index short after two clauses (ON CONFLICT(s) … ON CONFLICT(s) WHERE n IN (1, 3) …), on
        # an unwatched file as well; only one writer has a twin to show whose fault it is.
        clauses = rng.choice([1, 1, 2]) if self.single else 1
        targets = rng.sample(t.targets, min(len(t.targets), clauses))
        for i, target in enumerate(targets or [""]):
            last = i == len(targets or [""]) - 1
            where = f"({target})" if target else ""
            if last and rng.random() < 0.2:
                where = ""
            if rng.random() < 0.3 or (not where and not last):
                out += f" ON CONFLICT{where} DO NOTHING"
            else:
                sets = self.sets(t, self.some(t))
                r = rng.random()
                if t.primary and r < 0.15:
                    k = rng.choice(t.primary)
                    sets += f", {quoted(k)} = {self.key_change(t, k)}"
                elif r < 0.35:
                    c = rng.choice([c for c in t.settable if c.name not in sets] or [t.settable[0]])
                    if quoted(c.name) + " =" not in sets:
                        sets += f", {quoted(c.name)} = excluded.{quoted(c.name)}"
                out += f" ON CONFLICT{where} DO UPDATE SET {sets}"
                if rng.random() < 0.2:
                    out += f" WHERE {t.sql_name}.n < {rng.randrange(3, 10)}"
        return out

    def insert_select(self, t: Table) -> str:
        rng = self.rng
        source = t if rng.random() < 0.7 else self.table()
        columns = self.chosen(t, 0.5)
        values = []
        for c in columns:
            if source is t and rng.random() < 0.5:
                shift = c.pool in ("integer", "number", "rowid", "real") and rng.random() < 0.6
                values.append(f"{quoted(c.name)}{f' + {rng.randrange(1, 60)}' if shift else ''}")
            else:
                values.append(self.value(c))
        order = ", ".join(f"{quoted(k)}, typeof({quoted(k)})" for k in source.key_members)
        limit = f"LIMIT {rng.randrange(1, 8)} OFFSET {rng.randrange(6)}"
        head = "REPLACE" if rng.random() < 0.2 else f"INSERT{self.verb()}"
        return (f"{head} INTO {t.sql_name}({', '.join(quoted(c.name) for c in columns)}) "
                f"SELECT {', '.join(values)} FROM {source.sql_name} WHERE {self.where(source)} ORDER BY {order} {limit}")

    def update(self, t: Table) -> str:
        rng = self.rng
        limit = f" LIMIT {rng.randrange(1, 4)}" if rng.random() < 0.1 and t.has_rowid else ""
        return f"UPDATE{self.verb()} {t.sql_name} SET {self.sets(t, self.some(t))} WHERE {self.where(t)}" + (
            self.limited(t, limit))

    def limited(self, t: Table, limit: str) -> str:
        if not limit:
            return ""
        return f" RETURNING {self.returned(t)} ORDER BY {t.rowid_name}{limit}"

    def key_change(self, t: Table, k: str) -> str:
        rng = self.rng
        c, name = t.column(k), quoted(k)
        if c.pool not in ("integer", "rowid", "real", "bit") and rng.random() < 0.3:
            return self.place_of_another(t, name, c.pool)
        if c.pool in ("integer", "number", "rowid", "real"):
            return rng.choice([f"-{name}", f"{name} + {rng.randrange(1, 60)}", f"{name} - {rng.randrange(1, 60)}",
                               f"{name} + 0", f"{name} * 1.0", self.value(c), self.value(c)])
        if c.pool == "text":
            return rng.choice([f"upper({name})", f"upper({name})", f"lower({name})", f"{name} || ' '", f"rtrim({name})",
                               f"{name} || 'z'", self.value(c), self.value(c)])
        if c.pool == "bit":
            return rng.choice([f"1 - {name}", self.value(c)])
        if rng.random() < 0.3:  # equal to SQLite, and another key: 1 and 1.0
            return f"CASE typeof({name}) WHEN 'integer' THEN {name} * 1.0 WHEN 'real' THEN CAST({name} AS INTEGER) ELSE {name} END"
        return rng.choice([self.value(c), self.value(c), f"CAST({name} AS TEXT)", f"CAST({name} AS BLOB)", f"{name} + 0"])

    def place_of_another(self, t: Table, name: str, pool: str) -> str:
        """A key that SQLite may hold for that of another row, and that is not the same: a and A, 1 and 1.0."""
        rng = self.rng
        other = f"(SELECT {name} FROM {t.sql_name} ORDER BY typeof({name}), {name} COLLATE BINARY LIMIT 1 OFFSET {rng.randrange(6)})"
        return rng.choice([f"upper({other})", f"lower({other})", f"{other} || ' '"] if pool == "text" else [f"{other} * 1.0", f"{other} + 0"])

    def update_key(self, t: Table) -> str:
        rng = self.rng
        if not t.primary or (t.has_rowid and rng.random() < (0.1 if t.rowid_alias else 0.3)):
            name = t.rowid_name
            sets = f"{name} = {rng.choice([f'-{name}', f'{name} + {rng.randrange(1, 6)}', f'{name} + 50', str(rng.randrange(1, 20)), f'abs({name})'])}"
        else:
            keys = rng.sample(t.primary, min(len(t.primary), rng.choice([1, 1, 2])))
            sets = ", ".join(f"{quoted(k)} = {self.key_change(t, k)}" for k in keys)
        if rng.random() < 0.4:
            more = [c for c in self.some(t) if c.name not in t.primary]
            sets += ", " + self.sets(t, more) if more else ""
        return f"UPDATE{self.verb()} {t.sql_name} SET {sets} WHERE {self.where(t)}"

    def swap(self, t: Table) -> str:
        """Two rows exchange a value that a unique index may look at: the first one is in the second's way."""
        rng = self.rng
        c = t.column(rng.choice(t.primary)) if t.primary and rng.random() < 0.6 else rng.choice(t.settable)
        name, a, b = quoted(c.name), self.value(c), self.value(c)
        return (f"UPDATE{self.verb()} {t.sql_name} SET {name} = CASE WHEN {name} = {a} THEN {b} ELSE {a} END "
                f"WHERE {name} IN ({a}, {b})")

    def update_from(self, t: Table) -> str:
        rng = self.rng
        source = self.table()
        c = rng.choice([c for c in t.settable if c.name not in t.primary])
        if t.primary and rng.random() < 0.25:
            c = t.column(rng.choice(t.primary))
        value = rng.choice(["f.n", "f.s", "f.n + 1", "f.c", self.value(c)])
        order = ", ".join(f"{quoted(k)}, typeof({quoted(k)})" for k in source.key_members)
        return (f"UPDATE{self.verb()} {t.sql_name} SET {quoted(c.name)} = {value}, c = f.c FROM "
                f"(SELECT n, s, c FROM {source.sql_name} ORDER BY {order} LIMIT 1 OFFSET {rng.randrange(8)}) AS f "
                f"WHERE {t.sql_name}.n {rng.choice(['=', '<', '>'])} f.n") if c.name != "c" else self.update(t)

    def delete(self, t: Table) -> str:
        rng = self.rng
        if rng.random() < 0.1 and t.has_rowid:
            return f"DELETE FROM {t.sql_name} WHERE {self.where(t)}" + self.limited(t, f" LIMIT {rng.randrange(1, 4)}")
        return f"DELETE FROM {t.sql_name} WHERE {self.where(t)}"

    def put_back(self, t: Table) -> str:
        """Rows replaced by themselves."""
        names = ", ".join(quoted(c.name) for c in t.settable)
        return f"INSERT OR REPLACE INTO {t.sql_name}({names}) SELECT {names} FROM {t.sql_name} WHERE {self.where(t)}"
