"""A small character transformer that learns a text with local steps: each worker trains for itself, and every H steps all exchange what
their models have moved.

    python3 examples/local_steps.py --workers 2                                             # Tithe: compressed, with a residual that decays
    python3 examples/local_steps.py --workers 2 --codec 'all|raw' --momentum 0.9 --nesterov # DiLoCo: dense
    python3 examples/local_steps.py --workers 2 --ddp                                       # a dense gradient in every step
    sudo python3 examples/local_steps.py --workers 2 --network 1Mbit --overlap              # hosts on a slow switch, by tools/netlab

The text is that of the licences under /usr/share/common-licenses, or --text FILE. The lines of Tithe are in train(). Debian: python3-torch
python3-numpy libopenblas0-pthread."""
import argparse
import glob
import json
import os
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "python"))  # where Tithe is not installed
WIDTH, HEADS, BLOCKS, LENGTH, BATCH = 64, 4, 2, 48, 8


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--every", type=int, default=20, help="local steps between two exchanges")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--codec", default="topk:keep=0.05|sign")
    parser.add_argument("--decay", type=float, default=0.95)
    parser.add_argument("--lr", type=float, default=1.0, help="the outer learning rate")
    parser.add_argument("--momentum", type=float, default=0.0, help="of the outer step")
    parser.add_argument("--nesterov", action="store_true")
    parser.add_argument("--overlap", action="store_true", help="exchange a round while the next one is computed")
    parser.add_argument("--ddp", action="store_true", help="DistributedDataParallel in place of local steps")
    parser.add_argument("--inner", type=float, default=3e-3, help="the learning rate of AdamW")
    parser.add_argument("--text", help="a file to learn; without: the machine's licences")
    parser.add_argument("--network", help="RATE or RATE+DELAY, such as 1Mbit or 10Mbit+20ms (needs root); without: this machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one line of JSON and nothing else")
    return parser.parse_args()


# ---- the problem ------------------------------------------------------------------------------------------------------

def read(path):
    """The text as numbers of its characters: what is learned, what is tested with, and how many characters there are."""
    import torch
    paths = [path] if path else sorted(p for p in glob.glob("/usr/share/common-licenses/*") if os.path.isfile(p) and not os.path.islink(p))
    text = "".join(open(one, encoding="utf-8", errors="replace").read() for one in paths)
    letters = {letter: number for number, letter in enumerate(sorted(set(text)))}
    numbers = torch.tensor([letters[letter] for letter in text])
    cut = len(numbers) * 9 // 10
    return numbers[:cut], numbers[cut:], len(letters)


def make_model(letters):
    import torch
    from torch import nn

    class Model(nn.Module):
        """Causal, with the same weights for reading and for writing a character."""

        def __init__(self):
            super().__init__()
            self.read, self.place = nn.Embedding(letters, WIDTH), nn.Embedding(LENGTH, WIDTH)
            for embedding in (self.read, self.place):
                nn.init.normal_(embedding.weight, std=0.1)
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, BLOCKS, nn.LayerNorm(WIDTH))
            self.register_buffer("mask", torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), 1))

        def forward(self, x):
            return self.blocks(self.read(x) + self.place.weight[:x.shape[1]], self.mask) @ self.read.weight.t()
    return Model()


def batch(numbers, draw):
    import torch
    begins = torch.randint(len(numbers) - LENGTH - 1, (BATCH,), generator=draw)
    rows = torch.stack([numbers[b:b + LENGTH + 1] for b in begins.tolist()])
    return rows[:, :-1], rows[:, 1:]


def loss_of(model, x, y):
    import torch
    return torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())


def test_loss(model, tests):
    """On the same pieces of the text at any time."""
    import torch
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        return sum(loss_of(model, *batch(tests, draw)).item() for _ in range(24)) / 24


# ---- a worker -----------------------------------------------------------------------------------------------------------

def train(wanted, rank):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=wanted.workers)
    numbers, tests, letters = read(wanted.text)
    torch.manual_seed(wanted.seed)
    model = make_model(letters)
    inner = torch.optim.AdamW(model.parameters(), lr=wanted.inner)
    outer = None
    if wanted.ddp:
        trained = torch.nn.parallel.DistributedDataParallel(model)
    else:
        import tithe.torch
        trained = model
        outer = tithe.torch.LocalSteps(model, wanted.every, wanted.codec, decay=wanted.decay, lr=wanted.lr, momentum=wanted.momentum,
                                       nesterov=wanted.nesterov, overlap=wanted.overlap, buffers=False)
    draw = torch.Generator().manual_seed(1000 * wanted.seed + rank)
    curve, begin = [], time.perf_counter()
    for step in range(1, wanted.rounds * wanted.every + 1):
        inner.zero_grad()
        loss_of(trained, *batch(numbers, draw)).backward()
        inner.step()
        if outer:
            outer.step()
        if step % (wanted.every * max(1, wanted.rounds // 8)) == 0:
            curve.append((step, test_loss(model, tests)))
            if rank == 0 and not wanted.json:
                print(f"step {step:5}  {time.perf_counter() - begin:7.1f} s  test loss {curve[-1][1]:.4f}", flush=True)
    if outer:
        outer.finish()
    count = sum(p.numel() for p in model.parameters())
    answer = {"workers": wanted.workers, "every": wanted.every, "rounds": wanted.rounds, "loss": test_loss(model, tests), "parameters": count,
              "seconds": time.perf_counter() - begin, "curve": curve, "frame_bytes": 4 * count}
    if outer:
        answer["frame_bytes"] = outer.totals()["uplink_bytes"] / outer.rounds
        answer["summary"] = outer.summary()
    dist.barrier()
    return answer


def report(wanted, answer):
    if wanted.json:
        print(json.dumps(answer), flush=True)
        return
    print(f"test loss {answer['loss']:.4f} after {wanted.rounds * wanted.every} steps of each of {wanted.workers} workers")
    print(answer.get("summary", "dense gradients in every step"))


# ---- starting them --------------------------------------------------------------------------------------------------------

def start_here(wanted):
    """As many processes on this machine."""
    import socket
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    environments = [dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, WORKER_RANK=str(rank)) for rank in range(wanted.workers)]
    workers = [subprocess.Popen([sys.executable, *sys.argv], env=environment) for environment in environments]
    return max(worker.wait() for worker in workers)


def start_in_lab(wanted):
    """A host for each, on a switch whose links have this rate and delay."""
    rate, _, delay = wanted.network.partition("+")
    lab = [os.path.join(HERE, "..", "tools", "netlab"), "--hosts", str(wanted.workers), "--rate", rate.lower(), "--delay", delay or "0"]
    environment = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", GLOO_SOCKET_IFNAME="e0", WORKER_RANK="NETLAB_HOST")
    return subprocess.run([*lab, "each", sys.executable, *sys.argv], env=environment, check=False).returncode


def main():
    wanted = options()
    rank = os.environ.get("WORKER_RANK")
    if rank is None:
        sys.exit(start_in_lab(wanted) if wanted.network else start_here(wanted))
    number = int(os.environ[rank] if rank == "NETLAB_HOST" else rank)
    answer = train(wanted, number)
    if number == 0:
        report(wanted, answer)


if __name__ == "__main__":
    main()
