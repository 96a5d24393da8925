"""What the dashboards show: one function a board, one entry a panel.

A description says what the panel is, what High and Low mean, and which Knob of the experiment file moves it.
"""

from shapes import REGIMES, bars, board, choice, heat, lines, number, row, target, timeline

ARM = choice("arm", "Arm", "The arms to look at, side by side.", "label_values(windtunnel_regime, arm)", True)
REFERENCE = choice(
    "reference", "Against", "The arm that the others are measured against.", "label_values(windtunnel_regime, arm)", False
)
LAW = "Knob: the law and its start, min and max in the arm's `controller`."
POLICY = "Knob: the policy and its levels in the arm's `limiter`."
OK = ', outcome="ok"'
LOAD = "Knob: `load`."
BACKEND = "Knob: `backend`, and the faults that act on it."
FAULTS = "Knob: `faults`."


def of(name, more=""):
    """A metric of the chosen arms."""
    return f'windtunnel_{name}{{arm=~"$arm"{more}}}'


def rate(name, by="arm", more=""):
    """How much a counter grows in a second."""
    return f"sum by ({by}) (rate({of(name, more)}[$__rate_interval]))"


def share(part, whole, more=""):
    return f"{rate(part, more=more)} / {rate(whole)}"


def quantile(of_all, name, by="arm"):
    return f"histogram_quantile({of_all}, {rate(name + '_bucket', by + ', le')})"


def quantiles(name, *of_all, by="arm", legend="{{arm}}"):
    """Each with the traces of single requests, where there are any."""
    return [
        target(quantile(q, name, by), f"{legend} p{round(100 * q)}", exemplar=True)
        for q in of_all
    ]


def each(name, legend="{{arm}}", more=""):
    return target(of(name, more), legend)


def phases():
    return timeline(
        "Phases and faults",
        "Which phase of the experiment goes on, and which faults are on. High and Low: a band is there or is not. "
        "Knob: `phases` and `faults`.",
        target("windtunnel_phase_active == 1", "phase {{phase}}"),
        target("windtunnel_fault_active == 1", "fault {{fault}}"),
        width=24, height=6,
    )


def regimes():
    return timeline(
        "Regimes",
        "What each arm looks like as a whole: docs/regimes.md defines the words. High and Low: a band is there while "
        "the arm is in that regime; an arm without a band of another colour was healthy. "
        "Knob: a stall is the law's, starvation the policy's, saturation the backend's.",
        target(f"{of('regime')} == 1", "{{arm}} {{regime}}"),
        colours=REGIMES, width=24, height=9,
    )


def windows(**rest):
    return lines(
        "Window and requests in flight",
        "The window as the law computes it, and what is really in flight. High: many requests at once, and in flight at "
        f"the window means that the law holds the load back. Low: few; under waiting requests that is the law's doing. {LAW}",
        "short",
        each("controller_window_requests", "{{arm}} window"),
        each("in_flight_requests", "{{arm}} in flight"),
        steps=True, **rest,
    )


def wait_quantiles(*of_all, **rest):
    return lines(
        "Waits",
        "From planned arrival to admission, or from ask to grant or cancel; those that did not wait count as 0. "
        "High: the gate holds work back. Low: it lets it through, perhaps into the backend's own queue. "
        f"Quantiles are as exact as their buckets, 41 % at worst. {LAW} Or the `limiter`.",
        "s", *quantiles("wait_seconds", *of_all), **rest,
    )


def outcomes(**rest):
    return lines(
        "Requests by outcome",
        "Requests that ended, by how. High: much of it; the failures are overload, error and timeout. Low: little. "
        f"Knob: `load`, `client` timeout, and the faults.",
        "reqps", target(rate("requests_total", "arm, outcome"), "{{arm}} {{outcome}}"), **rest,
    )


def overview():
    return board(
        "overview", "Overview", "Where every look begins: what runs, who waits, and what each arm looks like.",
        number("What runs", "Experiment, mode and seed of the run under way or the last one. High and Low: always 1, only "
               "the words count. Knob: the file, --mode and --seed.", "none",
               target("windtunnel_run_info", "{{experiment}} ({{mode}}, seed {{seed}})"), names=True),
        number("Goodput", f"Requests that ended well, each second. High: work is done. Low: it is not, or none is asked for. {LAW}",
               "reqps", target(rate("requests_total", more=OK))),
        number("Wait, p99", f"What 99 of 100 waits do not exceed. High: the gate holds work back. Low: it does not. {LAW}",
               "s", target(quantile(0.99, "wait_seconds"))),
        number("Out of slots", "Share of time without a free slot. High: at 100 % the window is the limit of all. Low: the "
               f"load or the backend is. {LAW}", "percentunit", target(rate("saturated_seconds_total")),
               defaults={"min": 0, "max": 1}),
        phases(),
        regimes(),
        windows(),
        wait_quantiles(0.5, 0.99),
        lines("Offered and admitted", "What the load offers and what gets through the gate. High: much of it; offered above "
              f"admitted fills the queue. Low: little is asked for. {LOAD}", "reqps",
              target(rate("arrivals_total"), "{{arm}} offered"), target(rate("admitted_total"), "{{arm}} admitted")),
        lines("Waiting", "How many wait for admission or for tokens. High: more is asked for than "
              f"the gate lets through. Low: nobody is held back. {LAW} Or the `limiter`.", "short", each("waiting_requests")),
        lines("Bytes granted", "What each limiter hands out in a second. High: at the rate of its global level nothing is "
              f"wasted. Low: nobody asks, or tokens lie idle. {POLICY}", "Bps", target(rate("granted_bytes_total"))),
        lines("Oldest wait under way", "How long the one has waited who has waited longest. High and growing at one second "
              f"each second: it is passed over. Low: everybody has a turn. {POLICY}", "s", each("waiter_oldest_age_seconds")),
        variables=(ARM,),
    )


def controller():
    equilibrium = f"clamp_max(1 / (1 - {of('controller_gradient_ratio')}) ^ 2, 64)"
    return board(
        "controller", "Controller", "What each law computes, from what, and how often.",
        regimes(),
        windows(),
        lines("Limit, and the peak in flight", "The whole requests that the law lets be in flight, and the most that were "
              "within the last sampling interval. High: peak at the limit, the law is what holds back. Low: the load is. "
              + LAW, "short", each("controller_limit_requests", "{{arm}} limit"),
              each("in_flight_peak_requests", "{{arm}} peak"), steps=True),
        lines("Gradient", "What the law last used. High: 1, round trips are as long as its baseline. Low: they are longer, "
              f"and the window is to shrink. {BACKEND}", "none", each("controller_gradient_ratio"), steps=True),
        lines("Window over its equilibrium", "At a steady gradient g the window of a velox law, g w + sqrt(w), rests at "
              "1 / (1 - g)^2; here that is taken as 64 at most. High: 1 and above, it is there. Low: below 1 while "
              "requests wait and nothing changes, it is stuck. It says nothing of other laws. Knob: the law's `window`, "
              "integer or double.", "none",
              target(f"{of('controller_window_requests')} / {equilibrium}"), logarithmic=True),
        lines("Round trips that the law goes by", "Its baseline, and what it observed. High: the backend or the network is "
              f"slow. Low: both are fast; a baseline that follows the observed forgets what is normal. {BACKEND}", "s",
              each("controller_rtt_seconds", "{{arm}} {{kind}}"), steps=True),
        lines("Waiting requests", "Who waits for a slot. High: the window holds work back. Low: it does not. " + LAW,
              "short", each("waiting_requests")),
        lines("Updates by direction", "Recomputations of the window each second, by where it went. High: many samples, or a "
              "law that recomputes at each. Low: few answers come back. " + LAW, "ops",
              target(rate("controller_updates_total", "arm, direction"), "{{arm}} {{direction}}")),
        lines("Updates by reason", "The same by the law's own reason. High: that reason rules. Low: it is rare. " + LAW,
              "ops", target(rate("controller_updates_total", "arm, reason"), "{{arm}} {{reason}}")),
        lines("Out of slots", "Share of time without a free slot. High: at 100 % the window is the limit of all. Low: the "
              f"load or the backend is. {LAW}", "percentunit", target(rate("saturated_seconds_total"))),
        lines("The law's inner numbers", "Each in its own unit; `windtunnel list controllers` says what they are. High and "
              "Low: as the law has it. " + LAW, "none", each("controller_vital", "{{arm}} {{name}}"),
              steps=True, logarithmic=True),
        row("Every update"),
        heat("Window at each update", "How many updates left the window where, each second: no update is missed, however "
             "short. High: dark, it often lies there. Low: pale, seldom. " + LAW, "short",
             rate("controller_update_window_requests_bucket", "le")),
        heat("Gradient at each update", "The gradients that the law used, each second. High: dark, often. Low: pale, "
             f"seldom; a hold that works is one dark band. {BACKEND}", "none",
             rate("controller_update_gradient_ratio_bucket", "le")),
        variables=(ARM,),
    )


def _waiters():
    total, count = of("waiter_wait_seconds_total"), of("waiter_decisions_total")
    return [
        row("Each waiter"),
        lines("Fairness", "The longest mean wait of a waiter over the median one, since the run began. High: one pays for "
              "all. Low: 1, all wait alike. " + POLICY, "none",
              target(f"max by (arm) ({total} / {count}) / quantile by (arm) (0.5, {total} / {count})")),
        bars("Mean wait of the twenty worst", "Waits of a waiter over their number. High: it is passed over. Low: it is "
             "served soon. " + POLICY, "s",
             # Over a span of time it would be all that were ever among the twenty.
             target(f"topk(20, {total} / {count})", "{{arm}} {{waiter}}", instant=True)),
        lines("Last wait, the twenty worst", "The last wait that ended, of each of the 64 waiters that asked first. High: "
              "that one was passed over. Low: it had its turn. " + POLICY, "s",
              target(f"topk(20, {of('waiter_last_wait_seconds')})", "{{arm}} {{waiter}}")),
        lines("Bytes of the twenty that get least", "What single waiters are granted each second. High: a fair share. Low: "
              "0 while others get something is starvation. " + POLICY, "Bps",
              target(f"bottomk(20, {rate('waiter_granted_bytes_total', 'arm, waiter')})", "{{arm}} {{waiter}}")),
        lines("Decisions of waiters", "Waits that ended each second, spread over waiters: most and least of an arm. High: "
              "turns come often. Low: seldom; far apart, some have all the turns. " + POLICY, "ops",
              target(f"max by (arm) ({rate('waiter_decisions_total', 'arm, waiter')})", "{{arm}} most"),
              target(f"min by (arm) ({rate('waiter_decisions_total', 'arm, waiter')})", "{{arm}} least")),
        lines("Without progress", "Waiters that wait and have seen 20 rounds of grants go by. High: starvation, by "
              "definition. Low: 0, nobody starves. " + POLICY, "short", each("zero_progress_waiters")),
    ]


def _tokens():
    stock = "limiter_tokens_{}_bytes"
    flows = ("refilled", "taken", "returned", "discarded")
    parts = {flow: of(stock.format(flow) + "_total") for flow in flows}
    residue = (
        f"{of(stock.format('start'))} + {parts['refilled']} + {parts['returned']} - {parts['taken']}"
        f" - {parts['discarded']} - {of(stock.format('available'))}"
    )
    return [
        row("Tokens"),
        lines("Tokens of the global bucket", "What lies in it. High: at its brim tokens are lost. Low: spent as they come; "
              "below 0, in debt. " + POLICY, "bytes", each("limiter_tokens_bytes"), steps=True),
        lines("Tokens of each level", "What all buckets of a level hold, and what they began with. High: unused. Low: "
              "spent. " + POLICY, "bytes",
              each(stock.format("available"), "{{arm}} {{level}}"),
              each(stock.format("start"), "{{arm}} {{level}} at the start"), steps=True),
        lines("Flow of tokens", "What comes in, is taken, is given back and is lost over the brim, each second. High: taken "
              "at the refill, all is used. Low: taken below it with waiters is waste. " + POLICY, "Bps",
              *[target(rate(stock.format(flow) + "_total", "arm, level"), f"{{{{arm}}}} {{{{level}}}} {flow}")
                for flow in flows]),
        lines("Tokens unaccounted for", "start + refilled + returned - taken - discarded - available. High: above 1, tokens "
              "came from nowhere or were lost: a bug. Low: 0, all is accounted for. " + POLICY, "bytes",
              target(residue, "{{arm}} {{level}}")),
        lines("Wake-ups for each grant", "How many looks at the bucket one grant costs. High: a herd. Low: 1, one timer. "
              + POLICY, "none", each("limiter_wakes_per_grant_ratio")),
        lines("The limiter's inner numbers", "Each in its own unit; `windtunnel list limiters` says what they are. High and "
              "Low: as the policy has it. " + POLICY, "none", each("limiter_vital", "{{arm}} {{name}}"),
              logarithmic=True),
    ]


def _downloads():
    return [
        row("Downloads"),
        lines("Transfers at work", "Transfers that have a slot. High: all slots are in use. Low: little is left to do. "
              "Knob: `download.slots`.", "short", each("transfers_active"), steps=True),
        lines("Ends of attempts", "By how they ended, each second. High: done, as fast as the rate allows; low_speed and "
              "broken are work for nothing. Low: little ends. Knob: `download` and its low-speed limit.", "ops",
              target(rate("transfer_ends_total", "arm, how"), "{{arm}} {{how}}")),
        number("Downloads done", "Downloads of which all segments are done. High: all of them, at the end. Low: some hang. "
               "Knob: `download.tasks`.", "short", each("tasks_done_total")),
        number("Bytes lost to aborts", "Granted to transfers that were aborted before the next checkpoint. High: the rate "
               "is spent on nothing. Low: 0. Knob: the low-speed limit and `checkpoint`.", "bytes", each("lost_bytes_total")),
        number("Makespan", "From the first arrival to the last end of a finite input; 0 before. High: slow. Low: near total "
               "over rate it cannot be better, however unfair the waits. " + POLICY, "s", each("makespan_seconds"), width=12),
    ]


def _queues():
    return [
        row("Queues before a window"),
        lines("Turned away after a wait", "Requests each second that had waited, by reason: CoDel, or the longest wait. High: more "
              "comes than can be served. Low: 0, whoever waits is served. Knob: `admission.queue` and `max_wait`.", "reqps",
              target(rate("queue_drops_total", "arm, reason"), "{{arm}} {{reason}}")),
        lines("Looks for a grant", "How many look at the gate for each request that goes. High: all that wait race for each place. "
              "Low: 1, only the next one looks. Knob: `admission.queue`.", "short",
              target(share("queue_looks_total", "admitted_total"))),
        number("Permits lost", "Places at the gate that nobody will ever give back. High: it closes for good. Low: 0. "
               "Knob: `admission.give_up.tie`.", "short", each("permits_lost_total")),
    ]


def waits():
    return board(
        "waits", "Waits", "Who waits, for how long, and whether it is the same one always.",
        heat("Waits", "How waits are spread, each second; the lowest band is those that did not wait. High: dark, many "
             "waits of that length. Low: pale, few; a second dark band far above is a tail. " + POLICY, "s",
             rate("wait_seconds_bucket", "le")),
        wait_quantiles(0.5, 0.9, 0.99),
        lines("Waiting", "How many wait for admission or for tokens. High: more is asked for than is let through. Low: "
              "nobody is held back. " + POLICY, "short", each("waiting_requests")),
        lines("Oldest wait under way", "Of requests and of asks for tokens, sampled. High and growing by a second "
              "each second: passed over. Low: everybody has a turn. " + POLICY, "s", each("waiter_oldest_age_seconds")),
        lines("The ten oldest", "How long the ten oldest waits under way have lasted, by rank. High: far above the others, "
              "those are passed over. Low: close together, turns are taken. " + POLICY, "s",
              each("waiter_age_seconds", "{{arm}} {{rank}}")),
        lines("Ends of waits", "Waits for tokens that ended each second, by how. High: granted, turns come fast. Low: "
              "cancelled or cut_off at all is work for nothing. " + POLICY, "ops",
              target(rate("wait_ends_total", "arm, outcome"), "{{arm}} {{outcome}}")),
        lines("Asks and overtakes", "Asks for tokens, and waits that somebody overtook who had asked later. High: overtakes "
              "above asks, order counts for nothing. Low: 0 overtakes, first come first served. " + POLICY, "ops",
              target(rate("asks_total"), "{{arm}} asks"), target(rate("overtakes_total"), "{{arm}} overtakes")),
        *_queues(), *_waiters(), *_tokens(), *_downloads(),
        variables=(ARM,),
    )


def _network():
    return [
        row("Network"),
        lines("Links", "Links opened each second, one for each direction of a connection, and those that a toxic has acted "
              "on. High: connections do not live long. Low: they are kept. Knob: `client.connections`.", "ops",
              target(rate("network_links_total"), "{{arm}} opened"), target(rate("network_links_hit_total"), "{{arm}} hit")),
        lines("Links cut", f"Links that a toxic closed or reset, each second. High: clients see broken connections. Low: 0. {FAULTS}",
              "ops", target(rate("network_aborts_total"), "{{arm}} closed"),
              target(rate("network_resets_total"), "{{arm}} reset")),
        lines("Bytes dropped", f"What came into the network and was not passed on, each second. High: a hole. Low: 0. {FAULTS}",
              "Bps", target(rate("network_dropped_bytes_total"))),
        lines("Attempts by whether a toxic hit", "Ended attempts, by whether a toxic acted on their connection. High: hit, as "
              "the toxicity asks. Low: far below the toxicity, struck connections carry few requests. "
              "Knob: the toxic's `toxicity`.", "reqps",
              target(rate("toxic_requests_total", "arm, hit"), "{{arm}} hit: {{hit}}")),
        lines("Bytes through Toxiproxy", "What each proxy of a Toxiproxy, or of `windtunnel proxy`, has taken in and passed on so "
              "far, by its own account. High: it carries the load; taken in above passed on, it holds or drops. Low: nothing "
              "goes through it: the faults of the run are the testbed's own. Toxiproxy counts a connection when it has ended. "
              "Knob: `--faults`, `faults`.", "bytes",
              *[target(f"sum by (proxy, direction) (toxiproxy_proxy_{way}_bytes_total)", f"{{{{proxy}}}} {{{{direction}}}} {word}")
                for way, word in (("received", "in"), ("sent", "out"))],
              steps=True),
    ]


def _backend():
    return [
        row("Backend"),
        lines("Busy servers", f"Mean share of busy servers of the last sampling interval. High: 1, no more is to be had. Low: there is room. {BACKEND}",
              "percentunit", each("backend_utilisation_ratio")),
        lines("Inside the backend", "In service, queued and held, and of these queued. High: the queue has moved into the "
              f"backend. Low: it is not at work. {BACKEND}", "short",
              each("backend_in_system_requests", "{{arm}} inside"), each("backend_queued_requests", "{{arm}} queued")),
        heat("Round trips", f"From admission to end, each second. High: dark, many of that length. Low: pale, few. {BACKEND}", "s",
             rate("rtt_seconds_bucket", "le")),
    ]


def faults():
    return board(
        "faults", "Faults", "What was done to the backend and the network, and what came of it.",
        phases(),
        number("Phase began", "When each phase that has begun did so. High and Low: later and earlier. Knob: `phases`.",
               "dateTimeAsIso", target("windtunnel_phase_start_timestamp_seconds * 1000", "{{phase}}"), width=24, height=4),
        lines("Round trips", f"From admission to end, by outcome. High: the fault is felt. Low: it is not. {FAULTS}", "s",
              *quantiles("rtt_seconds", 0.5, 0.99, by="arm, outcome", legend="{{arm}} {{outcome}}")),
        outcomes(),
        lines("Switches", "How often each fault has been switched on and off so far. High: many times. Low: 0, not yet; "
              f"on above off, it is on. {FAULTS}", "short", target("windtunnel_fault_transitions_total", "{{fault}} {{to}}"), steps=True),
        lines("Retries", "Attempts that failed and are tried again, each second. High: clients add load of their own. Low: "
              "they give up or succeed. Knob: `client.retry`.", "reqps", target(rate("retries_total"))),
        lines("Requests hit by an HTTP fault", "What faults that act on single requests have hit each second, and let pass "
              f"as max_active others were under them. High: as the fault's share asks. Low: it is not on. {FAULTS}", "reqps",
              target(rate("fault_injected_total", "arm, fault"), "{{arm}} {{fault}}"),
              target(rate("fault_overflow_total", "arm, fault"), "{{arm}} {{fault}} let pass")),
        lines("Requests under an HTTP fault", f"Arrived, and their answers not over. High: the fault holds many. Low: few or none. {FAULTS}",
              "short", each("fault_active_requests", "{{arm}} {{fault}}")),
        *_network(), *_backend(),
        variables=(ARM,),
    )


def compare():
    def against(expression, reference):
        return target(f"{expression} / scalar({reference})", "{{arm}}")

    def referred(expression):
        return expression.replace('arm=~"$arm"', 'arm=~"$reference"')

    def ratio(title, what, expression, **rest):
        return lines(title, what, "none", against(expression, referred(expression)), **rest)

    window = f"max by (arm) ({of('controller_window_requests')})"
    ok = rate("requests_total", more=OK)
    return board(
        "compare", "Compare", "Every arm against one of them: 1 is as much as it, 2 twice as much.",
        ratio("Window, times that of the reference", f"High: above 1, more at once than the reference. Low: less. {LAW}", window,
              steps=True, logarithmic=True),
        ratio("Goodput, times that of the reference", f"Requests that ended well. High: above 1, more work done. Low: less. {LAW}", ok),
        ratio("Wait p99, times that of the reference", f"High: above 1, its waits have a longer tail. Low: a shorter one. {LAW} Or the `limiter`.",
              quantile(0.99, "wait_seconds"), logarithmic=True),
        ratio("Bytes granted, times those of the reference", f"High: above 1, it hands out more. Low: less; a limiter at its rate is at 1. {POLICY}",
              rate("granted_bytes_total")),
        lines("Failed share", f"Requests that ended as anything but ok, of all that ended. High: most fail. Low: 0, none. {LAW}", "percentunit",
              target(share("requests_total", "requests_total", more=', outcome!="ok"'))),
        lines("Turned away", "Share of what the load offered that the full queue rejected. High: the queue overflows. Low: 0, "
              "it takes all. Knob: `admission.max_waiting`.", "percentunit", target(share("rejected_total", "arrivals_total"))),
        lines("Mean round trip", f"High: the requests wait inside the backend. Low: they do not, and may wait outside. {LAW}", "s",
              target(share("rtt_seconds_sum", "rtt_seconds_count"))),
        lines("Mean wait", f"High: the requests wait outside the backend. Low: they do not, and may wait inside. {LAW} Or the `limiter`.", "s",
              target(share("wait_seconds_sum", "wait_seconds_count"))),
        bars("Requests done", f"All that ended well so far. High: much work. Low: little. {LAW}", "short",
             target(f"sum by (arm) ({of('requests_total', OK)})")),
        bars("Bytes granted", f"All so far. High: much. Low: little. {POLICY}", "bytes", each("granted_bytes_total")),
        variables=(ARM, REFERENCE),
    )


def _belief():
    return [
        lines("How late the load offers", "Against its plan, 99th percentile. High: above 10 ms the run is inconclusive. Low: "
              "the machine keeps up. Knob: less load, or a machine of its own.", "s",
              *quantiles("schedule_lag_seconds", 0.99)),
        lines("How late the testbed's own runtime is", "A task that is ready runs so much later. High: it is in all times "
              "that are measured. Low: below 1 ms they can be believed. Knob: less load, or a machine of its own.", "s",
              *[target(f"histogram_quantile({q}, sum by (le) (rate(windtunnel_runtime_lag_seconds_bucket[$__rate_interval])))",
                       f"p{round(100 * q)}") for q in (0.5, 0.99)]),
        lines("How late feeds reach a backend elsewhere", "From an answer until the backend has what its gradient hold goes by, "
              "99th percentile. High: above 2 ms the hold does not wait for it, and the gradient may be off. Low: it is held answer "
              "by answer. Empty: no gradient is held, or the backend is in this process. Knob: less load, or a machine that is nearer.",
              "s", *quantiles("backend_feed_lag_seconds", 0.99)),
        lines("Books of requests", "Offered, less admitted, rejected, abandoned and waiting. High or Low: away from 0 for "
              "longer than a scrape, requests are lost or made up: a bug. Knob: none.", "short",
              target(f"{of('arrivals_total')} - {of('admitted_total')} - {of('rejected_total')}"
                     f" - {of('abandoned_total')} - {of('waiting_requests')}")),
        lines("Abandoned and rejected", "Requests that still waited when the run ended, and that were turned away. High: much of "
              f"the load was not served. Low: 0. {LOAD}", "short", each("abandoned_total", "{{arm}} abandoned"),
              each("rejected_total", "{{arm}} rejected"), steps=True),
    ]


def _server():
    return [
        lines("Runs of the server", "Runs that are over by verdict, orders that were refused, and readers that were let go, since "
              "`windtunnel serve` was started. High: broken, something is wrong with the server; refused, clients ask for what "
              "is not to be had, or while another run goes on. Low: nobody asks. Knob: what is ordered.", "short",
              target("windtunnel_server_runs_total", "{{verdict}}"),
              target("windtunnel_server_refused_runs_total", "orders refused"),
              target("windtunnel_server_readers_dropped_total", "readers let go"), steps=True),
        lines("Requests to the server", "HTTP requests each second, by route and class of status. High: 4xx, clients ask in vain; "
              "5xx, it cannot do its work. Low: only Prometheus asks. Knob: `scrape_interval`, and the clients.", "reqps",
              target("sum by (route, status) (rate(windtunnel_server_requests_total[$__rate_interval]))", "{{route}} {{status}}")),
    ]


def health():
    return board(
        "health", "Health", "Whether to believe the rest: the machine, the scrapes, and what was left out.",
        number("Version", "The version of windtunnel. High and Low: always 1, only the words count. Knob: the binary.", "none",
               target("windtunnel_build_info", "{{version}}"), names=True),
        number("Targets", "1 for each target that answers. High: 1, it does. Low: 0, its series have a gap. Knob: "
               "`scrape_configs` of Prometheus.", "none", target("up", "{{job}} {{instance}}"), width=9),
        number("Waiters folded", "Waiters without series of their own: all but the 64 that asked first. High: panels of single "
               "waiters show a part only. Low: 0, they show all. Knob: `download.slots`.", "short", each("waiters_folded"), width=9),
        *_belief(),
        lines("Scrapes", "How long each took. High: near the interval of 200 ms samples are missed. Low: all are taken. "
              "Knob: `scrape_interval`.", "s", target("scrape_duration_seconds", "{{job}}")),
        lines("Samples of a scrape", "How many series each target has. High: many arms and waiters. Low: few. "
              "Knob: `arms`.", "short", target("scrape_samples_scraped", "{{job}}"), steps=True),
        lines("Processor time", "Cores that each process uses. High: near all there are, times are inflated. Low: there is "
              "room. Knob: `load`.", "none", target("rate(process_cpu_seconds_total[$__rate_interval])", "{{job}}")),
        lines("Memory", "What is resident. High and growing: a run of many waits, or a leak. Low: fine. Knob: `record`.", "bytes",
              target("process_resident_memory_bytes", "{{job}}")),
        lines("Spans", "Spans of traces a second, by what became of them. High failed or dropped: traces are missing, the run is "
              "not. Low: all that ended were exported. Knob: `--traces`, `--trace-share`.", "none",
              target("rate(windtunnel_spans_total[$__rate_interval])", "{{result}}")),
        *_server(),
        variables=(ARM,),
    )


ALL = {make.__name__: make() for make in (overview, controller, waits, faults, compare, health)}
