"""Build NOTICE and sources.tsv from manifests.

  notice.py --manifest FILE... --pairs pairs.npz... --notice NOTICE --sources sources.tsv [--wordnet-licence FILE]
"""
import argparse
import numpy as np

HEAD = """The table crates/sprag-memory/data/table.bin was trained on text of the packages below. It holds no text of theirs: only numbers for
entries of a vocabulary. Their authors are named here because the table would not exist without their work.

Vocabulary: the uncased English WordPiece vocabulary of BERT (30,522 entries), Copyright 2018 The Google AI Language Team Authors,
Apache License 2.0. The packed table holds it in another order.

First rows: computed with all-MiniLM-L6-v2 of the Sentence Transformers project (nreimers and others, UKP Lab), Apache License 2.0,
which is based on MiniLM of Microsoft. The rows were projected, weighted and then trained further.

Moby Thesaurus by Grady Ward: public domain.

"""


def owner(line):
    """Return a copyright line, or "-" for a template without a name."""
    return "-" if "copyright holder" in line.lower() or "copyright notice" in line.lower() else line


p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--manifest", nargs="+", required=True), p.add_argument("--pairs", nargs="+", required=True)
p.add_argument("--notice", required=True), p.add_argument("--sources", required=True), p.add_argument("--wordnet-licence"), p.add_argument("--without", default="")
a = p.parse_args()
used = {p for f in a.pairs for p in np.load(f)["packs"]} - set(a.without.split(","))
rows = sorted({tuple(line.rstrip("\n").split("\t")) for m in a.manifest for line in open(m, encoding="utf-8")}, key=lambda r: (r[0], r[1].lower()))
rows = [r for r in rows if f"{r[0]}:{r[1]}" in used]
with open(a.sources, "w", encoding="utf-8") as f:
    f.write("# kind\tname\tversion\tlicence\n")
    f.writelines("\t".join(r[:4]) + "\n" for r in rows)
with open(a.notice, "w", encoding="utf-8") as f:
    f.write(HEAD)
    if a.wordnet_licence:
        f.write("WordNet 3.1, under this licence:\n\n" + open(a.wordnet_licence, encoding="utf-8").read().strip() + "\n\n")
    f.write("Packages (kind, name, version, licences of its licence files, first copyright line):\n\n")
    f.writelines(f"{r[0]} {r[1]} {r[2]} | {r[3]} | {owner(r[4])}\n" for r in rows)
print(len(rows), "packages")
