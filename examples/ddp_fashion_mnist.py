"""Fashion-MNIST with DistributedDataParallel, and what goes over the wire: dense, fp16, PowerSGD, or Tithe.

    python3 examples/ddp_fashion_mnist.py --workers 2
    sudo python3 examples/ddp_fashion_mnist.py --workers 2 --network 100Mbit          # hosts on a slow switch, by tools/netlab
    sudo python3 examples/ddp_fashion_mnist.py --workers 4 --network 100Mbit+10ms --hook powersgd

One file that starts its own workers. An MLP with 1,683,600 parameters learns until its test accuracy is 85 % (--target, --epochs).
The clock stands still while it is evaluated. The two lines of Tithe are in attach(). Debian: python3-torch python3-numpy
dataset-fashion-mnist libopenblas0-pthread."""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "python"))  # where Tithe is not installed
DATA = "/usr/share/datasets/fashion-mnist"
BATCH, RATE, MOMENTUM = 128, 0.03, 0.9
HOOKS = ("dense", "fp16", "powersgd", "tithe")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--network", help="RATE or RATE+DELAY, such as 100Mbit or 100Mbit+10ms (needs root); without: this machine")
    parser.add_argument("--hook", choices=HOOKS, default="tithe")
    parser.add_argument("--codec", help="of Tithe; without: its default")
    parser.add_argument("--feedback")
    parser.add_argument("--options", default="{}", help="more of State's keywords, as JSON: '{\"momentum\": null}'")
    parser.add_argument("--rank", type=int, default=4, help="of PowerSGD")
    parser.add_argument("--dense-steps", type=int, default=10, help="of PowerSGD, at the start")
    parser.add_argument("--target", type=float, default=0.85, help="stop at this test accuracy")
    parser.add_argument("--epochs", type=float, default=5, help="and after so many passes over the data")
    parser.add_argument("--steps", type=int, help="in place of --epochs")
    parser.add_argument("--every", type=int, default=10, help="steps between two evaluations")
    parser.add_argument("--drop", type=int, default=2, help="so many first steps are not in the median")
    parser.add_argument("--lr", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one line of JSON and nothing else")
    return parser.parse_args()


# ---- the problem ------------------------------------------------------------------------------------------------------

def read(kind):
    """Images as rows of numbers with mean 0, and labels."""
    import numpy
    import torch
    with gzip.open(f"{DATA}/{kind}-images-idx3-ubyte.gz") as file:
        images = numpy.frombuffer(file.read(), numpy.uint8, offset=16).reshape(-1, 784)
    with gzip.open(f"{DATA}/{kind}-labels-idx1-ubyte.gz") as file:
        labels = numpy.frombuffer(file.read(), numpy.uint8, offset=8)
    return (torch.from_numpy(images.astype("float32")) / 255 - 0.286) / 0.353, torch.from_numpy(labels.astype("int64"))


def make_model():
    from torch import nn
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 850), nn.ReLU(), nn.Linear(850, 10))


def batches(count, seed, rank, workers):
    """The rows of this worker, step by step: its share of batches that do not depend on the number of workers."""
    import torch
    draw = torch.Generator().manual_seed(seed)
    while True:
        order = torch.randperm(count, generator=draw)
        for begin in range(0, count - BATCH + 1, BATCH):
            yield order[begin + rank * BATCH // workers:begin + (rank + 1) * BATCH // workers]


# ---- what goes over the wire --------------------------------------------------------------------------------------------

def attach(model, wanted):
    """The hook. Dense is what DDP does by itself."""
    if wanted.hook == "tithe":
        import tithe.torch
        state = tithe.torch.State(model, codec=wanted.codec, feedback=wanted.feedback, **{"momentum": MOMENTUM, **json.loads(wanted.options)})
        model.register_comm_hook(state, tithe.torch.hook)
        return state
    if wanted.hook == "fp16":
        from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    if wanted.hook == "powersgd":
        from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as powersgd
        state = powersgd.PowerSGDState(None, matrix_approximation_rank=wanted.rank, start_powerSGD_iter=wanted.dense_steps)
        model.register_comm_hook(state, powersgd.powerSGD_hook)
    return None


def wrap(model, hook):
    """PowerSGD's hook starts an all-reduce in a callback, and over gloo ranks then pair different ones as soon as there are two buckets.
    One bucket needs a private limit."""
    import torch
    if hook == "powersgd":
        torch.distributed._DEFAULT_FIRST_BUCKET_BYTES = 1 << 30
        return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=1024)
    return torch.nn.parallel.DistributedDataParallel(model)


def sent_bytes(device="e0"):
    """By this host, as its network device counts; None outside of the lab."""
    path = f"/sys/class/net/{device}/statistics/tx_bytes"
    if "NETLAB_HOST" not in os.environ or not os.path.exists(path):
        return None
    with open(path, encoding="ascii") as file:
        return int(file.read())


# ---- a worker -----------------------------------------------------------------------------------------------------------

def accuracy(model, images, labels, rank, workers):
    """Of the whole test set, of which everybody looks at a share."""
    import torch
    with torch.no_grad():
        right = (model.module(images[rank::workers]).argmax(1) == labels[rank::workers]).sum()
    torch.distributed.all_reduce(right)
    return right.item() / len(labels)


def train(wanted, rank):
    import torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=wanted.workers)
    images, labels = read("train")
    tests = read("t10k")
    torch.manual_seed(wanted.seed)
    model = wrap(make_model(), wanted.hook)
    state = attach(model, wanted)
    optimizer = torch.optim.SGD(model.parameters(), lr=wanted.lr, momentum=MOMENTUM)
    steps = wanted.steps or int(wanted.epochs * (len(images) // BATCH))
    rows = batches(len(images), wanted.seed, rank, wanted.workers)
    seconds, seen, curve, reached, sent = 0.0, [], [], None, 0
    torch.distributed.barrier()
    for step in range(1, steps + 1):
        mine = next(rows)
        x, y = images[mine], labels[mine]
        before, begin = sent_bytes(), time.perf_counter()
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        seen.append(time.perf_counter() - begin)
        seconds += seen[-1]
        if before is not None:
            sent += sent_bytes() - before
        if step % wanted.every == 0 or step == steps:
            found = accuracy(model, *tests, rank, wanted.workers)
            curve.append((step, round(seconds, 4), found))
            if rank == 0 and not wanted.json:
                print(f"step {step:5}  {seconds:8.2f} s  test accuracy {100 * found:.2f} %", flush=True)
            if found >= wanted.target:
                reached = step
                break
    answer = {"hook": wanted.hook, "workers": wanted.workers, "network": wanted.network, "steps": step, "seconds": seconds,
              "reached": reached, "accuracy": curve[-1][2], "median_step": statistics.median(seen[wanted.drop:] or seen),
              "sent_bytes_per_step": sent / step if sent_bytes() is not None else None, "curve": curve}
    if state:
        answer["summary"] = state.summary()
    torch.distributed.barrier()
    return answer


def report(wanted, answer):
    if wanted.json:
        print(json.dumps(answer), flush=True)
        return
    aim = f"{100 * wanted.target:g} % after {answer['reached']} steps" if answer["reached"] else f"{100 * wanted.target:g} % not reached"
    print(f"{wanted.hook}, {wanted.workers} workers: {aim}, {answer['seconds']:.1f} s; a step takes {1000 * answer['median_step']:.1f} ms")
    if "summary" in answer:
        print(answer["summary"])


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
    answer = train(wanted, int(os.environ[rank] if rank == "NETLAB_HOST" else rank))
    if (os.environ[rank] if rank == "NETLAB_HOST" else rank) == "0":
        report(wanted, answer)


if __name__ == "__main__":
    main()
