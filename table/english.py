"""Write pairs of general English from WordNet, and from a thesaurus if given, in the format of mine.py.

  english.py --wordnet DIR --out english.jsonl [--thesaurus words.txt]

DIR holds data.noun, data.verb, data.adj and data.adv of WordNet 3.1.
"""
import argparse, json, os, random, re

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--wordnet", required=True), p.add_argument("--out", required=True), p.add_argument("--thesaurus")
a = p.parse_args()


def synsets(pos):
    """Return offset -> (words, gloss, examples, offsets of the more general synsets)."""
    out = {}
    for line in open(os.path.join(a.wordnet, "data." + pos), encoding="utf-8"):
        if line.startswith("  "):
            continue
        data, _, gloss = line.partition(" | ")
        f = data.split()
        n = int(f[3], 16)
        words = [re.sub(r"\(\w+\)$", "", w).replace("_", " ") for w in f[4:4 + 2 * n:2]]
        up = [f[i + 1] for i in range(4 + 2 * n, len(f) - 1) if f[i] in ("@", "@i", "&")]
        examples = re.findall(r'"([^"]+)"', gloss)
        meaning = re.sub(r';?\s*"[^"]*"', "", gloss).strip(" ;\n")
        out[f[0]] = words, meaning, examples, up
    return out


with open(a.out, "w", encoding="utf-8") as f:
    def put(kind, q, d):
        f.write(json.dumps([kind, "english", q, d]) + "\n")

    for pos in ("noun", "verb", "adj", "adv"):
        all_ = synsets(pos)
        for words, meaning, examples, up in all_.values():
            if not meaning:
                continue
            put("wn", ", ".join(words), meaning)
            for e in examples:
                put("wnex", e, words[0] + ": " + meaning)
            for a_, b in zip(examples, examples[1:]):
                put("wnexex", a_, b)
            for u in up[:1]:
                if u in all_ and all_[u][1]:
                    put("wnup", meaning, ", ".join(all_[u][0]) + ": " + all_[u][1])
    rng = random.Random(5)
    for line in open(a.thesaurus, encoding="latin-1") if a.thesaurus else []:
        ws = line.strip().split(",")
        if len(ws) > 6:
            rest = ws[1:]
            rng.shuffle(rest)
            put("moby", ws[0] + " " + ", ".join(rest[:3]), ", ".join(rest[3:15]))
