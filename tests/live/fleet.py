"""The questions of docs/fleet.md, asked of a dataset by one engine: python3 fleet.py duckdb|spark DOCUMENT DIR.

Views and questions are the document's own text. Prints one JSON object: rows by the question's number, and under "checks"
what an independent reader says of the files.
"""

import contextlib
import decimal
import glob
import json
import os
import re
import sys


def plain(value):
    """Numbers are equal whatever kinds engines give them."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float, decimal.Decimal)):
        number = float(value)
        return int(number) if number.is_integer() else round(number, 6)
    return str(value)


def blocks(text, language):
    return re.findall(r"^```%s\n(.*?)^```" % language, text, re.M | re.S)


def questions(text, folder):
    number = r"V\d+" if os.path.isdir(folder + "/fields") else r"\d+"
    return re.findall(r"^\*\*(%s)\. .*?^```sql\n(.*?)^```" % number, text, re.M | re.S)


def duckdb_engine(text, folder):
    import duckdb

    connection = duckdb.connect()
    for statement in blocks(text, "duckdb")[0].replace("DIR", folder).split(";"):
        files = re.findall(r"'(.*?)'", statement)
        if files and glob.glob(files[0]):
            connection.execute(statement)
    return lambda question: connection.execute(question).fetchall()


def spark_engine(text, folder):
    os.environ["PYSPARK_SUBMIT_ARGS"] = " ".join(
        "--master local[2] --conf spark.ui.enabled=false --conf spark.sql.shuffle.partitions=2"
        " --conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1 pyspark-shell".split()
    )
    names = {}
    # What the document's lines show is no part of the answer.
    with contextlib.redirect_stdout(sys.stderr):
        exec(blocks(text, "python")[0].replace("DIR", folder), names)
    return lambda question: [tuple(row) for row in names["spark"].sql(question.rstrip().rstrip(";")).collect()]


def checks(folder):
    """What pyarrow reads of every file: kinds of columns, and that all rows can be decoded."""
    import pyarrow.parquet

    found = {"files": 0, "unsigned": [], "groups": 0, "codecs": set(), "schemas": set(), "kinds": {}}
    for path in sorted(glob.glob(folder + "/**/*.parquet", recursive=True)):
        file = pyarrow.parquet.ParquetFile(path)
        table = os.path.relpath(path, folder).split(os.sep)[0]
        found["files"] += 1
        schema = file.schema_arrow
        found["unsigned"] += [f"{table}.{field.name}" for field in schema if "uint" in str(field.type)]
        found["kinds"].setdefault(table, set()).add(", ".join(f"{field.name} {field.type}" for field in schema))
        found["schemas"].add(file.metadata.metadata[b"heapdump.schema"].decode())
        rows = sum(batch.num_rows for batch in file.iter_batches())
        assert rows == file.metadata.num_rows, path
        for group in range(file.metadata.num_row_groups):
            facts = file.metadata.row_group(group)
            found["groups"] = max(found["groups"], facts.num_rows)
            found["codecs"] |= {facts.column(column).compression for column in range(facts.num_columns)}
    differing = [table for table, kinds in found.pop("kinds").items() if len(kinds) > 1]
    return {key: sorted(value) if isinstance(value, set) else value for key, value in found.items()} | {
        "differing": differing
    }


def main():
    engine, document, folder = sys.argv[1:]
    text = open(document, encoding="utf-8").read()
    ask = {"duckdb": duckdb_engine, "spark": spark_engine}[engine](text, folder)
    answers = {number: [[plain(value) for value in row] for row in ask(question)] for number, question in questions(text, folder)}
    if engine == "duckdb":
        answers["checks"] = checks(folder)
    print(json.dumps(answers))


main()
