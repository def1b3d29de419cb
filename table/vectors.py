"""Write test vectors of a packed table: text -> words -> entry numbers (in the file's order) -> first dimensions of the unit vector.

  vectors.py --table table.bin --out vectors.json
"""
import argparse, json
import numpy as np
import evaluate, pack, text

TEXTS = [
    "", " ", "\t\n", "...!?", "_", "__", "a", "A", "7", "3.14", "0x1F", "v1.2.3-rc.1", "1,000,000",
    "hello world", "Hello, World!", "parseHTTPResponse", "getElementById", "XMLHttpRequest", "HTTPServer", "iOS", "fooBar2Baz", "utf8Decode", "ABC",
    "snake_case_name", "__init__", "SCREAMING_SNAKE_CASE", "mixed_camelCase_And_HTTPThings", "kebab-case-name",
    "src/retrieval/graph_retriever.rs", "C:\\Users\\me\\file.txt", "https://example.com/a?b=c#d", "crate::index::Table<'a>", "fn main() { println!(\"hi\"); }",
    "the lock file is stale, so delete it and run the build again", "don't await a call that is not a coroutine",
    "naïve café Ångström", "Überprüfung der Größe", "İstanbul ǅ", "e\u0301te\u0301", "Привет мир", "καλημέρα κόσμε", "你好世界", "日本語のテキスト", "한국어 텍스트", "emoji 🚀 rocket",
    "zero\u200bwidth\u00a0space\u3000wide", "control\u0007char \ufffd end", "“quoted” — dash… ‘single’", "price is $5 + 10% = x^2 ~ `y` | z",
    "x" * 100, "x" * 101, "word " + "y" * 300 + " end", "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "test test test test", "a b c a b a", "tokio::spawn tokio::spawn async",
]
PAIRS = [("delete a file", "remove the file from disk"), ("delete a file", "parse a date from a string"), ("parseHTTPResponse", "parse http response"),
         ("snake_case_name", "snakeCaseName"), ("the build fails on Windows", "compilation error on Windows"), ("", "anything"),
         ("retry with backoff when the server is busy", "exponential back-off for requests answered 503"), ("café", "cafe")]

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--table", required=True), p.add_argument("--out", required=True)
a = p.parse_args()
rows, vocab, line = pack.read(a.table)
index = {v: i for i, v in enumerate(vocab)}


def vector(s):
    """Return the vector of evaluate.Embed in double precision, so that a test sees only the rounding of the Rust code."""
    out = np.zeros(rows.shape[1])
    for i, n in zip(*np.unique([i for i in text.ids(s, index) if i < len(rows)], return_counts=True)):
        out += np.sqrt(n) * rows[int(i)]
    n = np.linalg.norm(out)
    return out / n if n else out


def one_per_line(o):
    """Render JSON with one case per line, so that a change gives a small diff."""
    parts = []
    for k, v in o.items():
        cases = isinstance(v, list) and v and isinstance(v[0], dict)
        parts.append(f"{json.dumps(k)}: " + ("[\n" + ",\n".join(map(json.dumps, v)) + "\n]" if cases else json.dumps(v)))
    return "{\n" + ",\n".join(parts) + "\n}\n"


out = {"dims": rows.shape[1], "rows": len(rows), "calibration": [round(float(x), 6) for x in line], "texts": [], "cosines": []}
for s in TEXTS:
    ids = [int(i) for i in text.ids(s, index)]
    out["texts"].append({"text": s, "words": text.words(s), "ids": ids, "head": [round(float(x), 5) for x in vector(s)[:8]]})
for x, y in PAIRS:
    out["cosines"].append({"a": x, "b": y, "cosine": round(float(vector(x) @ vector(y)), 5)})
with open(a.out, "w", encoding="utf-8") as f:
    f.write(one_per_line(out))

fast = None
try:
    import tempfile
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as t:
        t.write("\n".join(vocab) + "\n")
        t.flush()
        fast = text.fast_tokenizer(t.name)
except ImportError:
    print("tokenizers is not installed: skipped the parity check")
if fast:
    unknown = index["[UNK]"]
    for s in TEXTS:
        want = [i for i in fast.encode(text.split_names(s), add_special_tokens=False).ids if i != unknown]
        if want != text.ids(s, index):
            print("differs:", repr(s[:60]), want[:20], text.ids(s, index)[:20])
