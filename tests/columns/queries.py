"""Runs the queries of docs/columns.md: `queries.py duckdb|clickhouse|pandas PAGE`, in the folder that has `figures` and
`trends.json`. Prints the rows of each query as JSON, by its name.
"""

import json
import pathlib
import re
import sys


def queries(page):
    return re.findall(r"<!-- query: ([^\n]*?) -->\n```sql\n(.*?)```", page, re.S)


def of_duckdb(page):
    import duckdb

    database = duckdb.connect()
    answers = {}
    for name, sql in queries(page):
        if name != "clickhouse":
            cursor = database.execute(sql)
            answers[name] = [list(map(plain, row)) for row in cursor.fetchall()]
    answers["columns"] = [[row[0], row[1]] for row in database.execute("DESCRIBE figures").fetchall()]
    return answers


def of_clickhouse(page):
    from chdb import session

    database = session.Session()
    # A file may only be read below this folder elsewhere; in the process it is the working folder.
    answers = {}
    for name, sql in queries(page):
        if "duckdb" not in name:
            answers[name] = rows(database.query(sql, "JSONCompactEachRow"))
    answers["columns"] = [row[:2] for row in rows(database.query("DESCRIBE TABLE figures", "JSONCompactEachRow"))]
    return answers


def rows(answer):
    return [json.loads(line) for line in answer.bytes().decode().splitlines()]


def of_pandas(page):
    [program] = re.findall(r"```python\n(.*?)```", page, re.S)
    names = {}
    exec(compile(program, "docs/columns.md", "exec"), names)
    figures = names["figures"]
    return {
        "columns": [[name, str(kind)] for name, kind in figures.dtypes.items()],
        "n": sorted(figures["n"].dropna().unique().tolist()),
        "rows": len(figures),
    }


def plain(value):
    return value if isinstance(value, (int, float, str, type(None))) else str(value)


engine, page = sys.argv[1:]
# pandas prints what the page shows.
out, sys.stdout = sys.stdout, sys.stderr
answers = {"duckdb": of_duckdb, "clickhouse": of_clickhouse, "pandas": of_pandas}[engine](pathlib.Path(page).read_text("utf-8"))
json.dump(answers, out)
