use jiff::SignedDuration;

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn family(base: u32, newest: u32, is_used: bool) -> TokenFamily {
    TokenFamily { base, newest, is_used, issued_at: at(1000) }
}

#[test]
fn a_refresh_token_is_decided_by_its_generation() {
    let advance = |base, newest, now| {
        let issued_at = at(now);
        Refresh::Advance(TokenFamily { base, newest, is_used: false, issued_at })
    };
    for (state, generation, now, decision) in [
        // The first refresh, and later ones with the newest token.
        (family(0, 0, false), 0, 1001, advance(0, 1, 1001)),
        (family(0, 0, true), 0, 9000, advance(0, 1, 9000)),
        (family(3, 4, true), 4, 1001, advance(4, 5, 1001)),
        // The token before it: the same pair for a while, used or not.
        (family(3, 4, false), 3, 1030, Refresh::Repeat),
        (family(3, 4, true), 3, 1030, Refresh::Repeat),
        // A clock that was set back does not end a family.
        (family(3, 4, true), 3, 10, Refresh::Repeat),
        (family(3, 4, false), 3, 1031, advance(3, 5, 1031)),
        (family(3, 4, true), 3, 1031, Refresh::Reuse),
        // Below the base, and between the base and the newest.
        (family(3, 4, false), 2, 1001, Refresh::Reuse),
        (family(3, 6, false), 4, 1001, Refresh::Reuse),
        (family(3, 6, false), 5, 9000, Refresh::Reuse),
        // The database is older than the token.
        (family(3, 4, true), 9, 1001, advance(9, 10, 1001)),
        // The generations are exhausted.
        (family(3, u32::MAX, false), u32::MAX, 1001, Refresh::Reuse),
    ] {
        assert_eq!(state.refresh(generation, at(now)), decision, "{state:?} {generation} {now}");
    }
}

#[test]
fn the_content_of_a_token_is_read_as_it_was_written() {
    let lookup_key = LookupKey::from_text(&"0123456789abcdef".repeat(2)).unwrap();
    for expires_at in [None, Some(at(1)), Some(at(u32::MAX.into()))] {
        for generation in [0, 1, u32::MAX] {
            let token = FamilyToken { lookup_key, generation, expires_at };
            assert_eq!(FamilyToken::from_content(lookup_key, token.content()), token);
        }
    }
    let state = TokenFamily::new(at(7) + SignedDuration::from_millis(900));
    assert_eq!((state.access_expires_at(), state.ends_at()), (at(307), at(7 + IDLE_SECONDS)));
}

/// A client's step, or something that happens to it.
#[derive(Debug, Clone, Copy)]
enum Step {
    Refresh,
    /// The server handles a refresh, but the response does not arrive.
    LoseResponse,
    UseAccess,
    /// The use of an access token is not stored, because the server crashes.
    UseAccessBeforeCrash,
    Wait(i64),
}

const STEPS: [Step; 7] = [
    Step::Refresh,
    Step::LoseResponse,
    Step::UseAccess,
    Step::UseAccessBeforeCrash,
    Step::Wait(1),
    Step::Wait(31),
    Step::Wait(400),
];

/// A family, and the pair that its client holds.
#[derive(Debug, Clone, Copy)]
struct Session {
    row: TokenFamily,
    now: i64,
    held: u32,
    held_expires_at: Timestamp,
}

impl Session {
    fn new() -> Self {
        let row = family(0, 0, false);
        Self { row, now: 1000, held: 0, held_expires_at: row.access_expires_at() }
    }

    /// Refreshes with a token; `None` if the family ends. Returns the generation of the response.
    fn refresh(&mut self, generation: u32) -> Option<u32> {
        match self.row.refresh(generation, at(self.now)) {
            Refresh::Advance(row) => self.row = row,
            Refresh::Repeat => {}
            Refresh::Reuse => return None,
        }
        Some(self.row.newest)
    }

    fn use_access(&mut self, generation: u32) {
        self.row.is_used |= generation == self.row.newest;
    }

    /// Takes a step of the honest client. Returns `None` if it loses its session.
    fn take(mut self, step: Step) -> Option<Self> {
        match step {
            Step::Wait(seconds) => self.now += seconds,
            Step::Refresh => {
                self.held = self.refresh(self.held)?;
                self.held_expires_at = self.row.access_expires_at();
            }
            Step::LoseResponse => {
                self.refresh(self.held)?;
            }
            Step::UseAccess if at(self.now) < self.held_expires_at => self.use_access(self.held),
            Step::UseAccess | Step::UseAccessBeforeCrash => {}
        }
        Some(self)
    }
}

/// Every sequence of seven steps: 823,543 of them.
#[test]
fn an_honest_client_never_loses_its_session() {
    fn explore(session: Session, path: &mut Vec<Step>) -> usize {
        if path.len() == 7 {
            return 1;
        }
        let mut count = 0;
        for step in STEPS {
            path.push(step);
            let next = session.take(step).unwrap_or_else(|| panic!("{path:?}"));
            count += explore(next, path);
            path.pop();
        }
        count
    }
    assert_eq!(explore(Session::new(), &mut vec![]), 823_543);
}

/// A second process with the same stored token refreshes at most 30 seconds after the first, in
/// every interleaving with lost responses and uses.
#[test]
fn two_processes_that_share_a_stored_token_both_go_on() {
    for delay in 0..=REPEAT_SECONDS {
        for is_used in [false, true] {
            let mut session = Session::new();
            for _ in 0..20 {
                let stored = session.held;
                session = session.take(Step::Refresh).unwrap();
                if is_used {
                    session = session.take(Step::UseAccess).unwrap();
                }
                session.now += delay;
                assert_eq!(session.refresh(stored), Some(session.held), "{delay} {is_used}");
                session.now += 400;
            }
        }
    }
}

/// A thief copies a refresh token and presents it later. Unless that is within 30 seconds of the
/// client's refresh, one of the two ends the family: at once if the use of the client's tokens was
/// stored, otherwise at the client's next refresh.
#[test]
fn a_thief_is_noticed() {
    for is_mark_lost in [false, true] {
        for refreshes in 1..4 {
            let mut session = Session::new();
            let stolen = session.held;
            for _ in 0..refreshes {
                session = session.take(Step::Refresh).unwrap();
                let step = if is_mark_lost { Step::UseAccessBeforeCrash } else { Step::UseAccess };
                session = session.take(step).unwrap();
                session.now += REPEAT_SECONDS + 1;
            }
            let is_noticed_at_once = session.refresh(stolen).is_none();
            let is_noticed = is_noticed_at_once || session.refresh(session.held).is_none();
            assert_eq!(is_noticed_at_once, !is_mark_lost || refreshes > 1, "{refreshes}");
            assert!(is_noticed, "{is_mark_lost} {refreshes}");
        }
    }
}
