"""Text preparation: text -> words -> WordPiece entries -> weights. The reference for the Rust code (README.md, "Text preparation")."""
import re, unicodedata

CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
MAX_WORD = 100
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
       (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))


def split_names(text):
    """Split names: fooBar -> foo Bar, HTTPServer -> HTTP Server, a_b -> a b. ASCII only, so that no Unicode table is needed."""
    return CAMEL.sub(" ", text).replace("_", " ")


def is_punct(c):
    n = ord(c)
    if 33 <= n <= 47 or 58 <= n <= 64 or 91 <= n <= 96 or 123 <= n <= 126:
        return True  # all ASCII symbols, also those outside the Unicode category of punctuation ($ + < = > ^ ` | ~)
    return n > 127 and unicodedata.category(c)[0] == "P"


def clean(text):
    """Drop control characters, turn white space into spaces, put spaces around CJK characters."""
    out = []
    for c in text:
        n = ord(c)
        if c in "\t\n\r":
            out.append(" ")
        elif n == 0 or n == 0xFFFD or unicodedata.category(c) in ("Cc", "Cf", "Cn", "Co"):
            continue
        elif c.isspace():
            out.append(" ")
        elif any(a <= n <= b for a, b in CJK):
            out.append(f" {c} ")
        else:
            out.append(c)
    return "".join(out)


def words(text):
    """Return the words to look up; each punctuation character is a word."""
    s = clean(split_names(text))
    s = "".join(c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn")
    s = "".join(c.lower() for c in s)
    out = []
    for chunk in s.split():
        word = ""
        for c in chunk:
            if is_punct(c):
                out += [word, c] if word else [c]
                word = ""
            else:
                word += c
        if word:
            out.append(word)
    return out


def pieces(word, vocab):
    """Match the longest entries greedily. Return None if a part of the word matches no entry or the word is too long."""
    if len(word) > MAX_WORD:
        return None
    out, start = [], 0
    while start < len(word):
        for end in range(len(word), start, -1):
            entry = ("##" if start else "") + word[start:end]
            if entry in vocab:
                break
        else:
            return None
        out.append(vocab[entry])
        start = end
    return out


def ids(text, vocab):
    """Return all entries of a text in order, also those without a row."""
    return [i for w in words(text) for i in pieces(w, vocab) or ()]


def has_row(entry):
    """Report whether an entry may have a row: it is not special and has a letter or a digit."""
    if entry in SPECIAL or re.fullmatch(r"\[unused\d+\]", entry):
        return False
    return any(c.isalnum() for c in entry.removeprefix("##"))


def load_vocab(path):
    with open(path, encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f]


def fast_tokenizer(vocab_path):
    """Return the same rules from the tokenizers package: about fifty times faster, for the training text."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    t = Tokenizer(models.WordPiece({w: i for i, w in enumerate(load_vocab(vocab_path))}, unk_token="[UNK]", max_input_chars_per_word=MAX_WORD))
    t.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=True, lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return t
