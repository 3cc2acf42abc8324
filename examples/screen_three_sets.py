"""Which of three public sets lies nearest to a private one, with and without privacy: `python
examples/screen_three_sets.py`.

Replace the names by `pc.load_images("folder or npz or zip")` for images of your own.
"""

import pillar_core as pc

N = 200  # images of each drawn set
private = pc.load_dataset("drawn_digits", n=N, seed=1)
public = {
    name: pc.load_dataset(name, n=N) for name in ("drawn_letters", "drawn_textures", "drawn_noise")
}

diagnostic = pc.screen(private, public, n_examples=100, repeats=2)
print("reads the private rows without noise; do not release:")
print(diagnostic[["public", "score", "value", "low", "high", "rank"]].to_string(index=False))

private_ranking = pc.screen(
    private, public, scores=("missed_energy",), n_examples=100, repeats=2, epsilon=3.0
)
print(f"\nranked within ε ≤ {private_ranking['epsilon_upper'].iloc[0]:.3f}:")
print(private_ranking[["public", "score", "value", "low", "high", "rank"]].to_string(index=False))
