"""What self-BLEU of a relation's questions costs, in one pass and by its definition (nltk, where it is installed).

python benchmarks/self_bleu.py                    # 1,500 sentences; the definition is timed on 60 of them and scaled
"""

import argparse
import time
from random import Random

from almanac.suites.facteval.texts import self_bleu


def invented(count: int) -> list[list[str]]:
    """Return sentences as templates make them: a few wordings, names that differ."""
    random = Random(0)
    wordings = ("the capital of {} {} is {} .", "{} {} has its seat in {} , they say .", "in which city is {} {} {} ?")
    names = [f"w{number}" for number in range(400)]
    return [random.choice(wordings).format(*(random.choice(names) for _ in range(3))).split() for _ in range(count)]


def main() -> None:
    """Time both and say how far they differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1500, metavar="INT", help="sentences of the relation [1500]")
    parser.add_argument("--sample", type=int, default=60, metavar="INT", help="of these by the definition [60]")
    arguments = parser.parse_args()
    sentences = invented(arguments.sentences)
    start = time.process_time()
    value = self_bleu(sentences)
    own = time.process_time() - start
    print(f"{len(sentences)} sentences in one pass: {value:.6f} in {own:.2f} CPU s")
    try:
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    except ImportError:
        print("nltk is not installed: nothing to compare with")
        return
    smooth = SmoothingFunction().method1
    start = time.process_time()
    for at in range(arguments.sample):
        sentence_bleu(sentences[:at] + sentences[at + 1 :], sentences[at], (1 / 3,) * 3, smooth)
    theirs = (time.process_time() - start) * len(sentences) / arguments.sample
    print(f"by the definition: {theirs:.0f} CPU s (of {arguments.sample} sentences, scaled), {theirs / own:.0f} times")
    few = sentences[:100]
    exact = [sentence_bleu(few[:at] + few[at + 1 :], few[at], (1 / 3,) * 3, smooth) for at in range(len(few))]
    print(f"of the first {len(few)}: they differ by {abs(self_bleu(few) - sum(exact) / len(few)):.1e}")


if __name__ == "__main__":
    main()
