"""Opacus trains, our accountant counts: `python examples/certified_opacus.py`. ε = 2 at δ = 1e-5 on
the digits that ship."""

import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset

import pillar_core as pc
import pillar_core.opacus  # adds the accountant "certified"

DELTA = 1e-5
warnings.filterwarnings("ignore", message="Secure RNG|Full backward hook")
torch.manual_seed(0)
digits = pc.load_dataset("digits")
rows, labels = (torch.tensor(part) for part in (digits.x_train, digits.y_train))
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
engine = PrivacyEngine(accountant="certified")
model, optimizer, loader = engine.make_private_with_epsilon(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
    data_loader=DataLoader(TensorDataset(rows.float() / 255, labels), batch_size=128),
    target_epsilon=2.0,
    target_delta=DELTA,
    epochs=10,
    max_grad_norm=1.0,
)
for _ in range(10):
    for batch, targets in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), targets).backward()
        optimizer.step()
bounds = engine.accountant.bounds(DELTA)
with torch.no_grad():
    tests = torch.tensor(digits.x_test).float() / 255
    accuracy = float((model(tests).argmax(1) == torch.tensor(digits.y_test)).float().mean())
print(f"σ = {optimizer.noise_multiplier:.3f} over {len(engine.accountant)} steps at δ = {DELTA:g}")
print(f"certified: {bounds.lower:.4f} ≤ ε ≤ {bounds.upper:.4f}")
print(
    f"test accuracy {accuracy:.1%} (an experiment: the noise is seeded, and test rows are not"
    " protected)"
)
