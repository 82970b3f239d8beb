//! The systems that an experiment is about, as a user names them: `mote` is a server of its own, `NAME=URL` is there already,
//! `NAME=FILE` is a pair that a cluster file describes, and any other name is started by a program.
//!
//! A system that cannot take part keeps its name and says why.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::args::{SystemsArgs, TargetArgs};
use super::cluster_file::ClusterFile;
use super::quiet::Quiet;
use super::{Subject, local_server};
use crate::server::EmbeddedServer;
use mote_driver::Admin;
use mote_measure::cpu::ProcessTree;
use mote_measure::readback;

/// Where mote's own server keeps its data, below the directory of the experiment.
const OWN_DATA: &str = "mote-data";

/// A system that takes part.
pub struct Present {
    pub name: String,
    pub version: String,
    pub(in crate::command) subject: Subject,
    pub settings: Value,
    /// Where an experiment's own server keeps its data.
    pub(in crate::command) data: Option<PathBuf>,
    pub(in crate::command) hands: Hands,
}

/// Who starts and stops a system's servers.
pub(in crate::command) enum Hands {
    /// The experiment: they are children of its own.
    Own,
    /// A program that knows the system by its name.
    Program(PathBuf),
    /// Commands of a cluster file.
    Described(ClusterFile),
    /// Somebody else.
    Nobody,
}

impl Present {
    /// Starts a primary that has ended, on its data and at its address.
    pub(super) fn start_again(&mut self) -> Result<(), String> {
        match (&mut self.subject.own, &self.hands) {
            (Some(own), _) => own.start_again()?,
            (None, Hands::Program(program)) => tell(program, "start", &self.name).map(|_| ())?,
            (None, Hands::Described(file)) => shell(file.start_primary()?)?,
            (None, _) => return Err("nobody here can start it again".into()),
        }
        // Its processes are others now.
        let own = self.subject.own.as_ref().map(|own| own.pid());
        let root = own.or_else(|| local_server(&self.subject.target));
        self.subject.processes = root.and_then(ProcessTree::new);
        Ok(())
    }

    /// Whether somebody here can end it in order and start it again.
    pub(super) fn can_be_restarted(&self) -> bool {
        match (&self.subject.own, &self.hands) {
            (Some(_), _) | (None, Hands::Program(_)) => true,
            (None, Hands::Described(file)) => file.start_primary.is_some() && file.stop_primary.is_some(),
            (None, _) => false,
        }
    }

    /// Ends a server that will be started again, and lets it write what it has to.
    pub(super) fn end_in_order(&mut self) -> Result<(), String> {
        match (&mut self.subject.own, &self.hands) {
            (Some(own), _) => own.terminate(),
            (None, Hands::Program(program)) => tell(program, "stop", &self.name).map(|_| ()),
            (None, Hands::Described(file)) => match &file.stop_primary {
                Some(stop) => shell(stop),
                None => Err("the cluster file has no stop-primary".into()),
            },
            (None, _) => Err("nobody here can stop it".into()),
        }
    }

    /// Lets a system that a program has started stop and start with so much memory for its buffers; `None` is as it was. False for
    /// those whose memory nobody here decides.
    pub(super) fn with_memory(&mut self, megabytes: Option<u64>) -> Result<bool, String> {
        let Hands::Program(program) = &self.hands else {
            return Ok(false);
        };
        tell(program, "stop", &self.name)?;
        let memory = megabytes.map(|megabytes| format!("{megabytes}MB"));
        let memory = memory.as_deref().map(|memory| ("SYSTEMS_MEMORY", memory));
        tell_with(program, "start", &self.name, memory)?;
        let root = local_server(&self.subject.target);
        self.subject.processes = root.and_then(ProcessTree::new);
        Ok(true)
    }

    /// What it says of itself now.
    pub(super) fn settings_now(&self) -> Result<Value, String> {
        let mut admin = Admin::connect(&self.subject.target).map_err(|error| error.to_string())?;
        Ok(json!(readback::settings(&mut admin).unwrap_or_default()))
    }

    fn stop(self) -> Result<(), String> {
        self.subject.stop()?;
        match &self.hands {
            Hands::Program(program) => tell(program, "stop", &self.name).map(|_| ()),
            Hands::Described(file) => file.stop_primary.as_deref().map_or(Ok(()), shell),
            Hands::Own | Hands::Nobody => Ok(()),
        }
    }
}

/// All that were asked for.
pub struct Systems {
    pub present: Vec<Present>,
    /// Name, and why it does not take part.
    pub absent: Vec<(String, String)>,
}

impl Systems {
    /// `directory` is where an experiment's own server keeps its data.
    pub fn start(
        args: &SystemsArgs,
        directory: &Path,
        embedded: &dyn EmbeddedServer,
        quiet: &Quiet,
    ) -> Result<Systems, String> {
        let mut systems = Systems {
            present: Vec::new(),
            absent: Vec::new(),
        };
        for asked in &args.systems {
            quiet.say(&format!("starting {asked}"));
            match one(asked, &args.systems_program, directory, embedded) {
                Ok(present) => systems.present.push(present),
                Err(why) => {
                    quiet.say(&format!("  {asked} cannot take part: {why}"));
                    systems.absent.push((asked.clone(), why));
                }
            }
        }
        if systems.present.is_empty() {
            return Err("no system can take part".into());
        }
        Ok(systems)
    }

    pub fn takes_part(&self, name: &str) -> bool {
        self.absent.iter().all(|(absent, _)| absent != name)
    }

    /// Stops what was started for this; a server that does not stop is worth a word but no failed experiment.
    pub fn stop(&mut self) {
        for present in std::mem::take(&mut self.present) {
            let name = present.name.clone();
            if let Err(error) = present.stop() {
                eprintln!("mote bench: stopping {name}: {error}");
            }
        }
    }

    /// As reports have them. One that could not go on stands there with its reason only.
    pub fn describe(&self) -> Vec<Value> {
        let present = self.present.iter().filter(|system| self.takes_part(&system.name));
        let present = present.map(|system| {
            json!({"name": system.name, "version": system.version, "target": system.subject.target.to_string(),
                "server_settings": system.settings})
        });
        let absent = self
            .absent
            .iter()
            .map(|(name, why)| json!({"name": name, "absent": why}));
        present.chain(absent).collect()
    }
}

/// Removes what mote's own server kept; it has been stopped.
pub(super) fn remove_data(directory: &Path) -> Result<(), String> {
    remove(&directory.join(OWN_DATA))
}

/// Removes a directory if it is there.
pub(super) fn remove(directory: &Path) -> Result<(), String> {
    match directory.exists() {
        true => {
            std::fs::remove_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
        }
        false => Ok(()),
    }
}

fn one(
    asked: &str,
    program: &Path,
    directory: &Path,
    embedded: &dyn EmbeddedServer,
) -> Result<Present, String> {
    let (name, url, hands) = match asked.split_once('=') {
        Some((name, url)) if url.contains("://") => (name, Some(url.to_string()), Hands::Nobody),
        Some((name, path)) => {
            let file = ClusterFile::read(Path::new(path))?;
            if let Some(start) = &file.start_primary {
                shell(start)?;
            }
            (name, Some(file.primary.clone()), Hands::Described(file))
        }
        None if asked == "mote" => (asked, None, Hands::Own),
        None => {
            let url = tell(program, "start", asked)?;
            (asked, Some(url), Hands::Program(program.to_path_buf()))
        }
    };
    let data = url.is_none().then(|| directory.join(OWN_DATA));
    let target_args = match &url {
        Some(url) => TargetArgs::server(url),
        None => TargetArgs {
            target: None,
            data: data.clone(),
            ..TargetArgs::server("")
        },
    };
    let opened = Subject::new(&target_args, embedded).and_then(|subject| {
        let mut admin = Admin::connect(&subject.target).map_err(|error| error.to_string())?;
        let settings = readback::settings(&mut admin).unwrap_or_default();
        Ok((admin.server_version().to_string(), json!(settings), subject))
    });
    match opened {
        Ok((version, settings, subject)) => Ok(Present {
            name: name.to_string(),
            version,
            settings,
            data,
            subject,
            hands,
        }),
        Err(error) => {
            match &hands {
                Hands::Program(program) => tell(program, "stop", asked).map(|_| ())?,
                Hands::Described(file) => file.stop_primary.as_deref().map_or(Ok(()), shell)?,
                Hands::Own | Hands::Nobody => {}
            }
            Err(error)
        }
    }
}

/// What the program of systems says on standard output.
pub(super) fn tell(program: &Path, what: &str, name: &str) -> Result<String, String> {
    tell_with(program, what, name, None)
}

/// The same with something in its environment.
fn tell_with(
    program: &Path,
    what: &str,
    name: &str,
    variable: Option<(&str, &str)>,
) -> Result<String, String> {
    let output = Command::new(program)
        .args([what, name])
        .envs(variable)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_string());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().last().unwrap_or("it said nothing").to_string())
}

/// Runs a command that may leave a server behind, whose output nobody waits for.
pub(super) fn shell(command: &str) -> Result<(), String> {
    let ran = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let status = ran.map_err(|error| format!("\"{command}\": {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("\"{command}\" ended with {status}")),
    }
}
