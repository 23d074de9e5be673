//! A simulation of a node in accelerated time, with a queue that follows the same rules as the
//! store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use super::super::*;
use crate::push::lane_slots::LaneSlots;

/// Returns the result of a receiver's attempt with this number, and its duration in milliseconds.
type Respond = fn(number: u64) -> (Verdict, u64);

struct SimulatedReceiver {
    origin: usize,
    account_id: i64,
    respond: Respond,
    /// The times at which waiting messages were accepted.
    waiting: VecDeque<u64>,
    due_at: u64,
    failures: i64,
    is_proven: bool,
    attempts: u64,
    is_in_flight: bool,
    /// The times from acceptance to delivery.
    delays: Vec<u64>,
    dropped: usize,
}

#[derive(Default)]
struct SimulatedLane {
    receivers: Vec<usize>,
    record: LaneRecord,
    /// The lane in work, and its messages in flight: all, and those to receivers not proven.
    active: Option<(Lane, usize, usize)>,
    paused_until: u64,
    longest_pause: u64,
    most_in_flight: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Accept(usize),
    Answer { receiver: usize, started_at: u64 },
    Due(usize),
}

#[derive(Default)]
struct Simulation {
    now: u64,
    events: BinaryHeap<Reverse<(u64, Event)>>,
    receivers: Vec<SimulatedReceiver>,
    lanes: Vec<SimulatedLane>,
    /// The origins whose lanes wait for a slot, and since when.
    slotless: BTreeMap<usize, u64>,
    slots: LaneSlots,
}

fn to_timestamp(milliseconds: u64) -> Timestamp {
    Timestamp::from_millisecond(1_800_000_000_000 + i64::try_from(milliseconds).unwrap()).unwrap()
}

impl Simulation {
    /// Adds a receiver, and messages to it that are accepted at these times.
    fn add(
        &mut self,
        origin: usize,
        account_id: i64,
        respond: Respond,
        accepted_at: impl IntoIterator<Item = u64>,
    ) -> usize {
        let receiver = self.receivers.len();
        let (waiting, delays) = Default::default();
        let (due_at, attempts, dropped, failures) = (0, 0, 0, 0);
        let (is_proven, is_in_flight) = (false, false);
        self.receivers.push(SimulatedReceiver {
            origin,
            account_id,
            respond,
            waiting,
            due_at,
            failures,
            is_proven,
            attempts,
            is_in_flight,
            delays,
            dropped,
        });
        self.lanes.resize_with(self.lanes.len().max(origin + 1), SimulatedLane::default);
        self.lanes[origin].receivers.push(receiver);
        let accept = |time| Reverse((time, Event::Accept(receiver)));
        self.events.extend(accepted_at.into_iter().map(accept));
        receiver
    }

    /// Makes an origin and some of its receivers known to accept messages, as after a restart.
    fn prove(&mut self, origin: usize, receivers: &[usize]) {
        let succeeded_at = Some(to_timestamp(0));
        self.lanes[origin].record =
            LaneRecord { failures: 0, max_in_flight: 32, is_proven: true, succeeded_at };
        for &receiver in receivers {
            self.receivers[receiver].is_proven = true;
        }
    }

    fn run(&mut self, seconds: u64) {
        let is_accept = |event: &&Reverse<(u64, Event)>| matches!(event.0.1, Event::Accept(_));
        let count = self.events.iter().filter(is_accept).count();
        while let Some(&Reverse((time, event))) = self.events.peek() {
            if time > seconds * 1000 {
                break;
            }
            self.events.pop();
            self.now = time;
            match event {
                Event::Accept(index) => {
                    let receiver = &mut self.receivers[index];
                    receiver.waiting.push_back(time);
                    let origin = receiver.origin;
                    self.advance(origin);
                }
                Event::Answer { receiver, started_at } => self.answer(receiver, started_at),
                Event::Due(origin) => self.advance(origin),
            }
        }
        let left = self.events.iter().filter(is_accept).count();
        let in_queue = |r: &SimulatedReceiver| r.waiting.len() + r.dropped + r.delays.len();
        assert_eq!(
            self.receivers.iter().map(in_queue).sum::<usize>() + left,
            count,
            "none is lost"
        );
        for lane in &self.lanes {
            assert!(lane.longest_pause <= 600_000, "{}", lane.longest_pause);
        }
    }

    /// Starts or continues the work on a lane.
    fn advance(&mut self, origin: usize) {
        let lane = &mut self.lanes[origin];
        if let Some((active, in_flight, _)) = &lane.active
            && *in_flight >= active.max_in_flight()
        {
            return;
        }
        let is_due = |receiver: &SimulatedReceiver| {
            !receiver.is_in_flight && !receiver.waiting.is_empty() && receiver.due_at <= self.now
        };
        let mut due = lane.receivers.clone();
        due.retain(|&index| is_due(&self.receivers[index]));
        due.sort_by_key(|&index| (!self.receivers[index].is_proven, self.receivers[index].due_at));
        if lane.active.is_none() {
            if due.is_empty() || lane.paused_until > self.now {
                return;
            }
            let account_id = self.receivers[due[0]].account_id;
            if !self.slots.take(&origin.to_string(), account_id, lane.record.is_proven) {
                self.slotless.entry(origin).or_insert(self.now);
                return;
            }
            self.slotless.remove(&origin);
            lane.active = Some((Lane::new(lane.record), 0, 0));
        }
        let Some((active, in_flight, unproven_in_flight)) = &mut lane.active else { return };
        for index in due {
            let receiver = &mut self.receivers[index];
            let has_place = *in_flight < active.max_in_flight()
                && (receiver.is_proven || *unproven_in_flight < active.max_unproven_in_flight());
            if active.paused_until().is_some() || !has_place {
                continue;
            }
            *in_flight += 1;
            *unproven_in_flight += usize::from(!receiver.is_proven);
            receiver.is_in_flight = true;
            receiver.attempts += 1;
            let duration = (receiver.respond)(receiver.attempts).1;
            let answer = Event::Answer { receiver: index, started_at: self.now };
            self.events.push(Reverse((self.now + duration, answer)));
        }
        lane.most_in_flight = lane.most_in_flight.max(*in_flight);
        if *in_flight > 0 {
            return;
        }
        lane.record = active.record();
        if let Some(until) = active.paused_until() {
            let until = until.duration_since(to_timestamp(0)).as_millis();
            lane.paused_until = u64::try_from(until).unwrap();
            lane.longest_pause = lane.longest_pause.max(lane.paused_until - self.now);
        }
        lane.active = None;
        self.slots.release(&origin.to_string());
        let of_origin = lane.receivers.iter().map(|&index| &self.receivers[index]);
        let waiting = of_origin.filter(|receiver| !receiver.waiting.is_empty());
        if let Some(due_at) = waiting.map(|receiver| receiver.due_at).min() {
            let due_at = due_at.max(lane.paused_until).max(self.now + 1);
            self.events.push(Reverse((due_at, Event::Due(origin))));
        }
        // Lanes that do not fail come first, then those that have waited for the longest time.
        let waiting = self.slotless.iter().map(|(origin, since)| (*since, *origin));
        let mut slotless: Vec<(u64, usize)> = waiting.collect();
        slotless.sort_by_key(|&(since, origin)| (self.lanes[origin].record.failures > 0, since));
        for (_, origin) in slotless {
            if !self.slots.is_full() {
                self.advance(origin);
            }
        }
    }

    fn answer(&mut self, index: usize, started_at: u64) {
        let receiver = &mut self.receivers[index];
        let (verdict, duration) = (receiver.respond)(receiver.attempts);
        let origin = receiver.origin;
        let Some((lane, in_flight, unproven_in_flight)) = &mut self.lanes[origin].active else {
            panic!("no work on the lane");
        };
        let answer = Answer {
            verdict,
            account_id: receiver.account_id,
            receiver_is_proven: receiver.is_proven,
            receiver_failures: receiver.failures,
            started_at: to_timestamp(started_at),
            duration: Duration::from_millis(duration),
            retry_after: None,
            is_http1: false,
            in_flight: *in_flight,
            jitter: started_at.wrapping_mul(31) + index as u64,
        };
        let pause = lane.add(&answer, to_timestamp(self.now));
        *in_flight -= 1;
        *unproven_in_flight -= usize::from(!receiver.is_proven);
        receiver.is_in_flight = false;
        receiver.due_at = self.now + pause.map_or(0, |pause| pause.as_millis().try_into().unwrap());
        if verdict == Verdict::Delivered {
            (receiver.failures, receiver.is_proven) = (0, true);
            let accepted_at = receiver.waiting.pop_front().unwrap();
            receiver.delays.push(self.now - accepted_at);
        } else if pause.is_some() {
            (receiver.failures, receiver.is_proven) = (receiver.failures + 1, false);
            if verdict == Verdict::Rejected {
                receiver.waiting.pop_front();
                receiver.dropped += 1;
            }
        } else {
            receiver.due_at = self.now + 1000;
        }
        self.advance(origin);
    }

    fn longest_delay(&self, receivers: impl IntoIterator<Item = usize>) -> u64 {
        let delays = receivers.into_iter().flat_map(|index| &self.receivers[index].delays);
        *delays.max().expect("a message was delivered")
    }
}

const HEALTHY: Respond = |_| (Verdict::Delivered, 100);
const SILENT: Respond = |_| (Verdict::NoResponse, 10_000);
const DEAD: Respond = |_| (Verdict::OriginUnavailable, 7000);

/// Adds 50 healthy receivers of as many accounts, each with a message every 10 seconds.
fn add_others(simulation: &mut Simulation, origin: usize, from: u64) -> Vec<usize> {
    (0..50)
        .map(|number| {
            let times = (0..10).map(|message| from + number * 200 + message * 10_000);
            simulation.add(origin, 1000 + i64::try_from(number).unwrap(), HEALTHY, times)
        })
        .collect()
}

#[test]
fn the_devices_of_one_account_delay_nobody_else_at_the_same_origin() {
    let behaviours: [(&str, Respond); 6] = [
        ("denied", |_| (Verdict::Denied, 100)),
        ("throttled", |_| (Verdict::Throttled, 100)),
        ("failing", |_| (Verdict::Retry, 100)),
        ("rejected", |_| (Verdict::Rejected, 100)),
        ("silent", SILENT),
        // Works first.
        ("falls silent", |number| if number < 5 { HEALTHY(0) } else { SILENT(0) }),
    ];
    for (name, respond) in behaviours {
        for is_restarted in [false, true] {
            let mut simulation = Simulation::default();
            let others = add_others(&mut simulation, 0, 1000);
            for _ in 0..20 {
                simulation.add(0, 7, respond, (0..100).map(|message| 500 + message));
            }
            if is_restarted {
                simulation.prove(0, &others);
            }
            simulation.run(200);
            let delay = simulation.longest_delay(others.iter().copied());
            assert!(delay < 1000 || !is_restarted, "{name}: {delay}");
            let delivered = others.iter().map(|&index| simulation.receivers[index].delays.len());
            assert_eq!(delivered.sum::<usize>(), 500, "{name}");
            let attempts = simulation.receivers.iter().map(|r| r.attempts).max().unwrap();
            assert!(name == "falls silent" || attempts <= 20, "{name}: {attempts}");
        }
    }
}

#[test]
fn dead_origins_delay_neither_proven_origins_nor_new_ones() {
    for is_proven in [true, false] {
        let mut simulation = Simulation::default();
        for origin in 1..=800 {
            let account_id = i64::try_from(origin / 20).unwrap();
            let respond = if origin % 2 == 0 { DEAD } else { SILENT };
            simulation.add(origin, account_id, respond, (0..10).map(|message| 10 * message));
        }
        let others = add_others(&mut simulation, 0, 100);
        if is_proven {
            simulation.prove(0, &others);
        }
        simulation.run(200);
        let delay = simulation.longest_delay(others);
        assert!(delay < 1000, "{is_proven}: {delay}");
        // All of them were tried, and are tried again.
        assert!(simulation.receivers.iter().all(|receiver| receiver.attempts > 0));
    }
}

#[test]
fn a_slow_origin_gets_all_its_messages() {
    let mut simulation = Simulation::default();
    let receiver = simulation.add(0, 1, |_| (Verdict::Delivered, 5200), 0..10);
    simulation.run(60);
    assert_eq!(simulation.receivers[receiver].delays.len(), 10);
    assert_eq!(simulation.lanes[0].longest_pause, 0);
}

#[test]
fn a_burst_to_a_distant_origin_is_delivered_in_few_rounds() {
    for (latency, respond) in [(100, HEALTHY as Respond), (300, |_| (Verdict::Delivered, 300))] {
        let mut simulation = Simulation::default();
        for account_id in 0..3000 {
            simulation.add(0, account_id, respond, [0]);
        }
        simulation.run(60);
        let delay = simulation.longest_delay(0..3000);
        assert!(delay <= 12 * latency, "{latency}: {delay}");
        assert!(simulation.lanes[0].most_in_flight <= 1024);
    }
}

#[test]
fn an_origin_recovers_after_an_outage_and_every_message_arrives() {
    // Each receiver's attempts fail until the origin is back; the number of attempts is small
    // because the lane pauses.
    let mut simulation = Simulation::default();
    simulation.add(0, 1, |number| if number <= 8 { DEAD(0) } else { HEALTHY(0) }, 0..50);
    for account_id in 2..40 {
        simulation.add(0, account_id, HEALTHY, [2000]);
    }
    simulation.run(3600);
    let delivered: usize = simulation.receivers.iter().map(|r| r.delays.len()).sum();
    assert_eq!(delivered, 50 + 38);
}
