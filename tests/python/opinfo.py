#!/usr/bin/env python3
"""PyTorch's own samples of its operators (OpInfo) on device="webgpu", against the CPU.

    make test-opinfo PYTHON=...        or, for less:
    PYTHONPATH=build/python python3 tests/python/opinfo.py [--samples 5] [--type float32] [--gradients] [--verbose] [NAME...]

Counts the entries whose samples all agree, computed by the device alone or with the host's help, those that are refused
with an exception, and those that differ. Needs torch, expecttest and hypothesis. The last line is a summary; exit status 1
if an entry differs.
"""
import argparse
import itertools
import sys
import warnings

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map

import solo.webgpu

# Their results are random or not initialised; tensor_split takes places that are the host's
NOT_COMPARED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "rand_like", "randn_like",
                "randint_like", "randint", "randn", "rand", "normal", "bernoulli", "multinomial", "uniform", "cauchy", "exponential",
                "geometric", "log_normal", "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
                "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout", "nn.functional.rrelu",
                "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d", "svd_lowrank", "pca_lowrank",
                "nn.functional.multi_head_attention_forward", "tensor_split"}
# Of halves, which are not rounded after each operator; gradients add more up
TOLERANCES = {torch.float16: (4e-3, 4e-3), torch.float32: (2e-5, 1e-4)}
GRADIENT_TOLERANCE = (1e-4, 1e-4)


def moved(value, device):
    return tree_map(lambda v: v.detach().clone().to(device) if isinstance(v, torch.Tensor) else v, value)


def is_as_good(op, sample, results):
    """Halves: no further from the result in 32 bits than the CPU's are, which rounds after each operator."""
    given, args, kwargs = tree_map(lambda v: v.detach().float() if isinstance(v, torch.Tensor) and v.dtype == torch.float16 else v,
                                   (sample.input, sample.args, sample.kwargs))
    exact = [t for t in tree_flatten(op(given, *args, **kwargs))[0] if isinstance(t, torch.Tensor)]
    absolute, relative = TOLERANCES[torch.float16]
    return all(((got - e).abs() <= (want - e).abs() + absolute + relative * e.abs()).all()
               for want, got, e in zip(*results, exact, strict=True))


def compare(op, sample, gradients):
    """None, or in which way it differs."""
    results = []
    for device in ("cpu", "webgpu"):
        given, args, kwargs = (moved(part, device) for part in (sample.input, sample.args, sample.kwargs))
        if "device" in kwargs:
            kwargs["device"] = device
        leaves = [t for t in tree_flatten((given, args, kwargs))[0] if isinstance(t, torch.Tensor) and t.is_floating_point()]
        try:
            if gradients:
                for leaf in leaves:
                    leaf.requires_grad_()
            made = op(given, *args, **kwargs)
            flat = [t for t in tree_flatten(made)[0] if isinstance(t, torch.Tensor)]
            if gradients:
                total = sum(t.sum() for t in flat if t.requires_grad)
                flat = [g for g in torch.autograd.grad(total, leaves, allow_unused=True) if g is not None] if isinstance(
                    total, torch.Tensor) else []
            results.append([t.detach().cpu() for t in flat])
        except Exception as why:
            if device == "cpu":
                return None  # the sample is one of an error
            return f"refused: {type(why).__name__}: {str(why)[:150]}"
    for want, got in zip(*results, strict=True):
        absolute, relative = GRADIENT_TOLERANCE if gradients else TOLERANCES.get(want.dtype, TOLERANCES[torch.float32])
        try:
            torch.testing.assert_close(got, want, atol=absolute, rtol=relative, equal_nan=True)
        except AssertionError as why:
            if want.dtype == torch.float16 and not gradients and is_as_good(op, sample, results):
                continue
            return "differs: " + " ".join(str(why).split())[:150]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--samples", type=int, default=5, help="of each entry")
    parser.add_argument("--type", default="float32")
    parser.add_argument("--gradients", action="store_true", help="compare these")
    parser.add_argument("--verbose", action="store_true", help="a line for each entry")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    dtype = getattr(torch, asked.type)
    counts = dict.fromkeys(("device", "host", "refused", "differs", "none"), 0)
    fallbacks = {}
    for op in op_db:
        if (asked.names and op.name not in asked.names) or op.name in NOT_COMPARED or op.name.startswith("_refs"):
            continue
        if dtype not in op.dtypes or (asked.gradients and not op.supports_autograd):
            continue
        torch.webgpu.reset_statistics()
        torch.manual_seed(0)
        wrong, seen = None, 0
        try:
            samples = list(itertools.islice(op.sample_inputs("cpu", dtype), asked.samples))
        except Exception:
            samples = []  # it needs something that is not installed
        for sample in samples:
            wrong = wrong or compare(op, sample, asked.gradients)
            seen += 1
        used = torch.webgpu.fallbacks()
        kind = wrong.split(":")[0] if wrong else "none" if not seen else "host" if used else "device"
        counts[kind] += 1
        for name in used:
            fallbacks.setdefault(name, []).append(op.name)
        if wrong or asked.verbose:
            print(kind, op.name, op.variant_test_name, wrong.split(": ", 1)[1] if wrong else ", ".join(used), flush=True)
    for name, users in sorted(fallbacks.items(), key=lambda pair: -len(pair[1]))[:60 if asked.verbose else 0]:
        print(f"{len(users):4} entries need {name}")
    print(f"{asked.type}: {counts['device']} entries agree on the device alone, {counts['host']} with the host's help,"
          f" {counts['refused']} are refused, {counts['differs']} differ; {counts['none']} have no samples here")
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
