//! Runs permutations of one specification and prints what isolationtester prints.
//!
//! A step is launched as soon as its session is free and the step before it has ended or waits. Waiting is asked of
//! the server, every [`LOCK_CHECK_PERIOD`]: does this session wait for one of the others? Blockers of a step (see
//! `spec::Blocker`) hold its report back, never its launch.

use std::time::{Duration, Instant};

use mote_driver::Target;

use super::connection::{Connection, Outcome, Report};
use super::spec::{Blocker, PermutationStep, Spec, StepId};

const LOCK_CHECK_PERIOD: Duration = Duration::from_millis(10);

/// What a run left behind.
#[derive(Default)]
pub struct Run {
    pub output: String,
    /// Every error a session met, with its SQLSTATE: what the suite names a missing feature from.
    pub errors: Vec<Report>,
}

/// How a server tells that a session waits.
enum WaitQuery {
    /// PostgreSQL's function for isolationtester; it knows waits for safe snapshots, too.
    ForTests,
    /// pg_blocking_pids.
    BlockingPids,
}

/// Runs all permutations. `name` becomes part of application_name, as the specifications expect.
pub fn run(
    spec: &Spec,
    name: &str,
    target: &Target,
    settings: &[(&str, &str)],
    step_timeout: Duration,
) -> Run {
    let mut run = Run::default();
    for name in &spec.unused_steps {
        run.output.push_str(&format!("unused step name: {name}\n"));
    }
    run.output.push_str(&format!(
        "Parsed test spec with {} sessions\n",
        spec.sessions.len()
    ));
    let mut tester = match Tester::open(spec, name, target, settings, step_timeout) {
        Ok(tester) => tester,
        Err(error) => {
            run.output.push_str(&format!("Connection failed: {error}\n"));
            return run;
        }
    };
    let all;
    let permutations = if spec.permutations.is_empty() {
        all = spec.all_interleavings();
        &all
    } else {
        &spec.permutations
    };
    for permutation in permutations {
        if let Err(end) = tester.permutation(permutation) {
            tester.out.push_str(&end);
            break;
        }
    }
    run.output.push_str(&tester.out);
    run.errors = tester.errors;
    run
}

/// Isolationtester's fatal errors: the text it ends with.
type Fatal = String;

struct Tester<'a> {
    spec: &'a Spec,
    control: Connection,
    sessions: Vec<Connection>,
    wait_query: WaitQuery,
    step_timeout: Duration,
    out: String,
    errors: Vec<Report>,
    /// By session: the step under way, as its number in the permutation.
    active: Vec<Option<usize>>,
    /// By session: notices since the start.
    notices: Vec<usize>,
    any_new_notice: bool,
}

/// A launched step: the number of notices each of its blockers waits for.
struct Launched {
    targets: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Attempt {
    /// Come back as soon as the step waits for a lock.
    nonblocking: bool,
    /// The step has been reported as waiting before.
    again: bool,
}

impl<'a> Tester<'a> {
    fn open(
        spec: &'a Spec,
        name: &str,
        target: &Target,
        settings: &[(&str, &str)],
        step_timeout: Duration,
    ) -> Result<Tester<'a>, String> {
        let connect = |session: &str| {
            let application = format!("isolation/{name}/{session}");
            let mut all = settings.to_vec();
            all.push(("application_name", &application));
            Connection::open(target, &all, 2 * step_timeout)
        };
        let mut control = connect("control connection")?;
        let sessions: Vec<Connection> = spec
            .sessions
            .iter()
            .map(|session| connect(&session.name))
            .collect::<Result<_, _>>()?;
        let probe = "select 1 from pg_catalog.pg_proc where proname = 'pg_isolation_test_session_is_blocked'";
        let wait_query = match control.execute(probe) {
            Outcome::Rows(rows) if !rows.rows.is_empty() => WaitQuery::ForTests,
            _ => WaitQuery::BlockingPids,
        };
        Ok(Tester {
            spec,
            control,
            wait_query,
            step_timeout,
            out: String::new(),
            errors: Vec::new(),
            active: vec![None; sessions.len()],
            notices: vec![0; sessions.len()],
            any_new_notice: false,
            sessions,
        })
    }

    fn permutation(&mut self, steps: &[PermutationStep]) -> Result<(), Fatal> {
        self.out.push_str("\nstarting permutation:");
        for step in steps {
            self.out.push_str(&format!(" {}", self.spec.step(step.id).name));
        }
        self.out.push('\n');
        self.set_up()?;
        self.run_steps(steps)?;
        self.tear_down();
        Ok(())
    }

    fn set_up(&mut self) -> Result<(), Fatal> {
        for sql in &self.spec.setups {
            let outcome = self.control.execute(sql);
            self.show_side_work(outcome)
                .map_err(|error| format!("setup failed: {error}"))?;
        }
        for (number, session) in self.spec.sessions.iter().enumerate() {
            if let Some(sql) = &session.setup {
                let outcome = self.on_session(number, sql);
                self.show_side_work(outcome)
                    .map_err(|error| format!("setup of session {} failed: {error}", session.name))?;
            }
        }
        Ok(())
    }

    /// Teardown goes on after failures, so that the next permutation finds a clean place.
    fn tear_down(&mut self) {
        for (number, session) in self.spec.sessions.iter().enumerate() {
            if let Some(sql) = &session.teardown {
                let outcome = self.on_session(number, sql);
                if let Err(error) = self.show_side_work(outcome) {
                    let line = format!("teardown of session {} failed: {error}", session.name);
                    self.out.push_str(&line);
                }
            }
        }
        if let Some(sql) = &self.spec.teardown {
            let outcome = self.control.execute(sql);
            if let Err(error) = self.show_side_work(outcome) {
                self.out.push_str(&format!("teardown failed: {error}"));
            }
        }
    }

    fn on_session(&mut self, session: usize, sql: &str) -> Outcome {
        let outcome = self.sessions[session].execute(sql);
        self.show_notices(session);
        outcome
    }

    /// Rows of setups and teardowns are shown; errors are the caller's.
    fn show_side_work(&mut self, outcome: Outcome) -> Result<(), String> {
        match outcome {
            Outcome::Done => Ok(()),
            Outcome::Rows(rows) => {
                rows.print(&mut self.out);
                Ok(())
            }
            Outcome::Error(report) => {
                let text = report.full();
                self.errors.push(report);
                Err(text)
            }
            Outcome::Lost(text) => Err(text),
        }
    }

    fn run_steps(&mut self, steps: &[PermutationStep]) -> Result<(), Fatal> {
        let mut launched: Vec<Launched> = Vec::new();
        let mut waiting: Vec<usize> = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            let session = step.id.session;
            self.free_session(steps, &launched, &mut waiting, session)?;
            self.sessions[session].submit(&self.spec.step(step.id).sql);
            self.active[session] = Some(number);
            let target = |blocker: &Blocker| match blocker {
                Blocker::Notices(other, count) => self.notices[other.session] + count,
                _ => 0,
            };
            launched.push(Launched {
                targets: step.blockers.iter().map(target).collect(),
            });
            let first = Attempt {
                nonblocking: true,
                again: false,
            };
            let must_wait = !self.try_complete(steps, &launched, number, first)?;
            self.try_complete_all(steps, &launched, &mut waiting, true)?;
            if must_wait {
                waiting.push(number);
            }
        }
        self.try_complete_all(steps, &launched, &mut waiting, false)?;
        if waiting.is_empty() {
            Ok(())
        } else {
            Err("failed to complete permutation due to mutually-blocking steps\n".into())
        }
    }

    /// Waits until the session's earlier step has been reported, polling the other steps that may release it.
    fn free_session(
        &mut self,
        steps: &[PermutationStep],
        launched: &[Launched],
        waiting: &mut Vec<usize>,
        session: usize,
    ) -> Result<(), Fatal> {
        let deadline = Instant::now() + 2 * self.step_timeout;
        while let Some(old) = self.active[session] {
            let attempt = Attempt {
                nonblocking: false,
                again: true,
            };
            if self.try_complete(steps, launched, old, attempt)? {
                waiting.retain(|number| *number != old);
            }
            self.try_complete_all(steps, launched, waiting, true)?;
            if self.active[session].is_some() && Instant::now() > deadline {
                let name = &self.spec.step(steps[old].id).name;
                return Err(format!("step {name} timed out\n"));
            }
        }
        Ok(())
    }

    /// Looks at every waiting step; again while a report or a notice may have released one that has blockers.
    fn try_complete_all(
        &mut self,
        steps: &[PermutationStep],
        launched: &[Launched],
        waiting: &mut Vec<usize>,
        nonblocking: bool,
    ) -> Result<(), Fatal> {
        loop {
            self.any_new_notice = false;
            let before = waiting.len();
            let mut still = Vec::with_capacity(before);
            for number in std::mem::take(waiting) {
                let attempt = Attempt {
                    nonblocking,
                    again: true,
                };
                if !self.try_complete(steps, launched, number, attempt)? {
                    still.push(number);
                }
            }
            *waiting = still;
            let has_blocker = waiting.iter().any(|number| !steps[*number].blockers.is_empty());
            if !has_blocker || (waiting.len() == before && !self.any_new_notice) {
                return Ok(());
            }
        }
    }

    /// True: the step has ended and was reported. False: it waits for a lock, or a blocker holds it.
    fn try_complete(
        &mut self,
        steps: &[PermutationStep],
        launched: &[Launched],
        number: usize,
        attempt: Attempt,
    ) -> Result<bool, Fatal> {
        let PermutationStep { id, blockers } = &steps[number];
        if !attempt.again && blockers.contains(&Blocker::Once) {
            self.report_waiting(*id);
            return Ok(false);
        }
        if self.wait_for_result(*id, attempt)? || self.is_held(steps, launched, number) {
            if !attempt.again {
                self.report_waiting(*id);
            }
            return Ok(false);
        }
        let spec = self.spec;
        let step = spec.step(*id);
        if attempt.again {
            self.out
                .push_str(&format!("step {}: <... completed>\n", step.name));
        } else {
            self.out.push_str(&format!("step {}: {}\n", step.name, step.sql));
        }
        self.show_outcomes(id.session);
        self.show_notifications(id.session);
        self.active[id.session] = None;
        Ok(true)
    }

    fn report_waiting(&mut self, id: StepId) {
        let step = self.spec.step(id);
        let line = format!("step {}: {} <waiting ...>\n", step.name, step.sql);
        self.out.push_str(&line);
    }

    /// Until the first result is complete; true if the session waits for another one and the caller wants to know.
    fn wait_for_result(&mut self, id: StepId, attempt: Attempt) -> Result<bool, Fatal> {
        let session = id.session;
        let start = Instant::now();
        let mut canceled = false;
        loop {
            let busy = self.sessions[session].is_busy();
            self.show_notices(session);
            if !busy {
                return Ok(false);
            }
            if self.sessions[session].wait_readable(LOCK_CHECK_PERIOD) {
                continue;
            }
            if attempt.nonblocking && self.is_blocked(session)? {
                // Something may have arrived while the question was under way.
                self.sessions[session].wait_readable(Duration::from_micros(100));
                let busy = self.sessions[session].is_busy();
                self.show_notices(session);
                return Ok(busy);
            }
            let name = &self.spec.step(id).name;
            let waited = start.elapsed();
            if waited > self.step_timeout && !canceled {
                let line = format!(
                    "isolationtester: canceling step {name} after {} seconds\n",
                    waited.as_secs()
                );
                self.out.push_str(&line);
                self.sessions[session]
                    .cancel()
                    .map_err(|error| format!("cancel failed: {error}\n"))?;
                canceled = true;
            }
            if waited > 2 * self.step_timeout {
                return Err(format!(
                    "step {name} timed out after {} seconds\n",
                    waited.as_secs()
                ));
            }
        }
    }

    /// Whether the session waits for one of the other sessions.
    fn is_blocked(&mut self, session: usize) -> Result<bool, Fatal> {
        let pid = self.sessions[session].pid;
        let others: Vec<String> = self.sessions.iter().map(|other| other.pid.to_string()).collect();
        let query = match self.wait_query {
            WaitQuery::ForTests => format!(
                "select pg_catalog.pg_isolation_test_session_is_blocked({pid}, '{{{}}}')",
                others.join(",")
            ),
            WaitQuery::BlockingPids => format!("select pg_catalog.pg_blocking_pids({pid})"),
        };
        let outcome = self.control.execute(&query);
        let answer = match &outcome {
            Outcome::Rows(rows) => rows.rows.first().and_then(|row| row[0].as_deref()),
            _ => None,
        };
        let Some(answer) = answer else {
            return Err(format!("lock wait query failed: {outcome:?}\n"));
        };
        Ok(match self.wait_query {
            WaitQuery::ForTests => answer == "t",
            WaitQuery::BlockingPids => {
                let blocking = answer.trim_matches(['{', '}']).split(',');
                blocking
                    .into_iter()
                    .any(|pid| others.iter().any(|other| other == pid))
            }
        })
    }

    fn is_held(&self, steps: &[PermutationStep], launched: &[Launched], number: usize) -> bool {
        let blockers = steps[number].blockers.iter().zip(&launched[number].targets);
        blockers.into_iter().any(|(blocker, target)| match blocker {
            Blocker::Once => false,
            Blocker::Step(other) => {
                self.active[other.session].is_some_and(|active| steps[active].id == *other)
            }
            Blocker::Notices(other, _) => self.notices[other.session] < *target,
        })
    }

    fn show_notices(&mut self, session: usize) {
        for notice in self.sessions[session].take_notices() {
            let line = format!("{}: {}", self.spec.sessions[session].name, notice.full());
            self.out.push_str(&line);
            self.notices[session] += 1;
            self.any_new_notice = true;
        }
    }

    fn show_outcomes(&mut self, session: usize) {
        loop {
            let outcome = self.sessions[session].next_outcome();
            self.show_notices(session);
            match outcome {
                None => return,
                Some(Outcome::Done) => {}
                Some(Outcome::Rows(rows)) => rows.print(&mut self.out),
                // Details may hold numbers that differ from run to run.
                Some(Outcome::Error(report)) => {
                    let line = format!("{}:  {}\n", report.severity, report.message);
                    self.out.push_str(&line);
                    self.errors.push(report);
                }
                Some(Outcome::Lost(text)) => {
                    self.out.push_str(&text);
                    self.out.push('\n');
                }
            }
        }
    }

    fn show_notifications(&mut self, session: usize) {
        let listener = &self.spec.sessions[session].name;
        for notification in self.sessions[session].take_notifications() {
            let sender = self
                .sessions
                .iter()
                .position(|other| other.pid == notification.pid)
                .map_or(format!("PID {}", notification.pid), |number| {
                    self.spec.sessions[number].name.clone()
                });
            let line = format!(
                "{listener}: NOTIFY \"{}\" with payload \"{}\" from {sender}\n",
                notification.channel, notification.payload
            );
            self.out.push_str(&line);
        }
        self.show_notices(session);
    }
}
