"""The model of benches/engine.rs in SimPy: M/M/24 at 1000/s, mean service 20 ms.

Prints: requests, CPU seconds, mean wait in seconds.
"""

import random
import sys
import time

import simpy

SERVERS, RATE, MEAN_SERVICE = 24, 1000.0, 0.020


def request(env, servers, waits):
    arrived = env.now
    with servers.request() as turn:
        yield turn
        waits.append(env.now - arrived)
        yield env.timeout(random.expovariate(1 / MEAN_SERVICE))


def arrivals(env, servers, waits):
    while True:
        yield env.timeout(random.expovariate(RATE))
        env.process(request(env, servers, waits))


def main(seconds):
    random.seed(1)
    env, waits = simpy.Environment(), []
    servers = simpy.Resource(env, capacity=SERVERS)
    env.process(arrivals(env, servers, waits))
    begin = time.process_time()
    env.run(until=seconds)
    cpu = time.process_time() - begin
    print(len(waits), cpu, sum(waits) / len(waits))


main(float(sys.argv[1]))
