//! A private Redis or Valkey cluster.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::launch::find_program;
use crate::redis_node_line::{NodeLine, parse_lines};
use crate::{EngineError, Redis, free_port};

/// Number of primaries. Each has one replica.
pub const SHARDS: usize = 3;

/// Far longer than a change of the cluster takes, even on a busy machine.
const TIMEOUT: Duration = Duration::from_mins(1);
/// Longer than Redis attempts a planned failover. It gives up if the nodes are too busy to vote.
const FAILOVER_TIMEOUT: Duration = Duration::from_secs(6);

/// A private cluster of three primaries and three replicas, without persistence.
///
/// Nodes have the numbers 0 to 5. The roles of primary and replica change with failovers.
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<Redis>,
    cli: PathBuf,
    /// The TLS ports; empty in a cluster without TLS.
    tls_ports: Vec<u16>,
}

/// A slot that is being moved from one primary to another.
#[derive(Debug)]
pub struct SlotMove {
    slot: String,
    from: usize,
    to: usize,
}

impl RedisCluster {
    /// Starts a cluster. A primary that does not respond for `node_timeout` is replaced by its
    /// replica. Until then, the other shards still respond.
    ///
    /// # Errors
    /// [`EngineError::Missing`] if Redis is not installed; otherwise the reason, with its log.
    pub fn start(node_timeout: Duration) -> Result<Self, EngineError> {
        let cli = find_program(&["redis-cli", "valkey-cli"])?;
        let mut cluster = Self { nodes: Vec::new(), cli, tls_ports: Vec::new() };
        for _ in 0..2 * SHARDS {
            cluster.nodes.push(start_node(node_timeout, Vec::new())?);
        }
        let addresses = cluster.nodes.iter().map(Redis::address).collect();
        cluster.create(addresses, &[])?;
        Ok(cluster)
    }

    /// Starts a cluster whose nodes use TLS among each other, with this certificate for localhost,
    /// and that has the user `limits` with the password `one,two`.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn start_tls(certificate: &Path, key: &Path) -> Result<Self, EngineError> {
        let cli = find_program(&["redis-cli", "valkey-cli"])?;
        let mut cluster = Self { nodes: Vec::new(), cli, tls_ports: Vec::new() };
        let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
        for _ in 0..2 * SHARDS {
            let port = free_port()?;
            let options = [
                ("--tls-port", port.to_string()),
                ("--tls-cluster", "yes".to_owned()),
                ("--tls-replication", "yes".to_owned()),
                ("--tls-auth-clients", "no".to_owned()),
                ("--tls-cert-file", certificate.clone()),
                ("--tls-key-file", key.clone()),
                ("--tls-ca-cert-file", certificate.clone()),
                ("--cluster-announce-hostname", "localhost".to_owned()),
                ("--cluster-preferred-endpoint-type", "hostname".to_owned()),
            ];
            cluster.nodes.push(start_node(TIMEOUT, options.to_vec())?);
            cluster.tls_ports.push(port);
        }
        for number in 0..cluster.nodes.len() {
            let user = ["ACL", "SETUSER", "limits", "on", ">one,two", "~*", "+@all"];
            cluster.run_command(number, &user)?;
        }
        let addresses = cluster.tls_ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        cluster.create(addresses, &["--tls", "--cacert", &certificate])?;
        Ok(cluster)
    }

    fn create(&self, addresses: Vec<String>, options: &[&str]) -> Result<(), EngineError> {
        let mut arguments: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        arguments.extend(["--cluster", "create"].map(str::to_owned));
        arguments.extend(addresses);
        arguments.extend(["--cluster-replicas", "1", "--cluster-yes"].map(str::to_owned));
        self.run_cli(&arguments)?;
        self.wait_until_complete()
    }

    #[must_use]
    pub fn url(&self) -> String {
        if !self.tls_ports.is_empty() {
            let hosts: Vec<_> =
                self.tls_ports.iter().map(|port| format!("localhost:{port}")).collect();
            return format!("rediss://limits:one,two@{}", hosts.join(","));
        }
        let addresses: Vec<_> = self.nodes.iter().map(Redis::address).collect();
        format!("redis://{}", addresses.join(","))
    }

    pub fn node(&mut self, number: usize) -> &mut Redis {
        &mut self.nodes[number]
    }

    #[must_use]
    pub fn node_url(&self, number: usize) -> String {
        self.nodes[number].url()
    }

    /// Runs a command on a node and returns its output.
    ///
    /// # Errors
    /// If the node does not respond.
    pub fn run_command(&self, number: usize, arguments: &[&str]) -> Result<String, EngineError> {
        let port = self.nodes[number].port().to_string();
        let mut cli_arguments = vec!["-p".to_owned(), port];
        cli_arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self.run_cli(&cli_arguments)
    }

    /// Returns the numbers of the primaries that own slots and have not failed.
    ///
    /// # Errors
    /// If no node responds.
    pub fn primaries(&self) -> Result<Vec<usize>, EngineError> {
        let lines = self.node_lines()?;
        let primaries = lines.iter().filter(|line| line.is_primary() && line.is_alive());
        Ok(primaries.filter_map(|line| self.node_number(line)).collect())
    }

    /// Returns the number of the primary that owns a key's slot.
    ///
    /// # Errors
    /// If no node responds, or no primary owns the slot.
    pub fn primary_for_key(&self, key: &str) -> Result<usize, EngineError> {
        for number in self.primaries()? {
            // A primary redirects if it does not own the slot.
            if !self.run_command(number, &["TYPE", key])?.starts_with("MOVED") {
                return Ok(number);
            }
        }
        Err(cluster_error(format!("no primary owns the slot of {key}")))
    }

    /// Returns the number of a primary's replica.
    ///
    /// # Errors
    /// If the primary has no replica, or the replica has failed.
    pub fn replica_for_primary(&self, primary: usize) -> Result<usize, EngineError> {
        let lines = self.node_lines()?;
        let id = Some(self.node_id(primary)?);
        lines
            .iter()
            .find(|line| line.primary.is_some() && line.primary == id && line.is_alive())
            .and_then(|line| self.node_number(line))
            .ok_or_else(|| cluster_error(format!("node {primary} has no replica")))
    }

    /// Returns the number of keys on a node.
    ///
    /// # Errors
    /// If it does not respond.
    pub fn key_count(&self, number: usize) -> Result<usize, EngineError> {
        let output = self.run_command(number, &["DBSIZE"])?;
        output.trim().parse().map_err(|_| cluster_error(output))
    }

    /// Fails over from a primary to its replica, without losing keys. Returns the replica's number.
    ///
    /// # Errors
    /// If the replica does not become the primary.
    pub fn fail_over(&self, primary: usize) -> Result<usize, EngineError> {
        let replica = self.replica_for_primary(primary)?;
        let mut requested_at: Option<Instant> = None;
        self.wait_until("the failover has ended", || {
            let primaries = self.primaries()?;
            let has_ended = primaries.contains(&replica) && !primaries.contains(&primary);
            if !has_ended && requested_at.is_none_or(|time| time.elapsed() > FAILOVER_TIMEOUT) {
                self.run_command(replica, &["CLUSTER", "FAILOVER"])?;
                requested_at = Some(Instant::now());
            }
            Ok(has_ended)
        })?;
        Ok(replica)
    }

    /// Promotes the replica of a killed primary, without a vote. Returns the replica's number.
    ///
    /// # Errors
    /// If the replica does not become the primary.
    pub fn take_over(&self, killed_primary: usize) -> Result<usize, EngineError> {
        let replica = self.replica_for_primary(killed_primary)?;
        self.run_command(replica, &["CLUSTER", "FAILOVER", "TAKEOVER"])?;
        self.wait_until("the replica is the primary", || Ok(self.primaries()?.contains(&replica)))?;
        Ok(replica)
    }

    /// Moves slots with their keys from one primary to another.
    ///
    /// # Errors
    /// If a node does not respond.
    pub fn move_slots(&self, from: usize, to: usize, slot_count: usize) -> Result<(), EngineError> {
        // The nodes learn of an earlier move one by one. Until all of them have, redis-cli rejects
        // the next move.
        let check_arguments =
            ["--cluster".to_owned(), "check".to_owned(), self.nodes[from].address()];
        self.wait_until("all nodes agree about the slots", || {
            self.run_cli(&check_arguments).map(|_| true)
        })?;
        let reshard_arguments = [
            "--cluster".to_owned(),
            "reshard".to_owned(),
            self.nodes[from].address(),
            "--cluster-from".to_owned(),
            self.node_id(from)?,
            "--cluster-to".to_owned(),
            self.node_id(to)?,
            "--cluster-slots".to_owned(),
            slot_count.to_string(),
            "--cluster-yes".to_owned(),
        ];
        self.run_cli(&reshard_arguments).map(drop)
    }

    /// Begins to move a key's slot, without moving any keys yet.
    ///
    /// # Errors
    /// If a node does not respond.
    pub fn begin_move(&self, key: &str, from: usize, to: usize) -> Result<SlotMove, EngineError> {
        let slot = self.run_command(from, &["CLUSTER", "KEYSLOT", key])?.trim().to_owned();
        self.run_command(to, &["CLUSTER", "SETSLOT", &slot, "IMPORTING", &self.node_id(from)?])?;
        self.run_command(from, &["CLUSTER", "SETSLOT", &slot, "MIGRATING", &self.node_id(to)?])?;
        Ok(SlotMove { slot, from, to })
    }

    /// Moves one key of a slot that is being moved.
    ///
    /// # Errors
    /// If a node does not respond.
    pub fn move_key(&self, slot_move: &SlotMove, key: &str) -> Result<(), EngineError> {
        let port = self.nodes[slot_move.to].port().to_string();
        let arguments = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000"];
        self.run_command(slot_move.from, &arguments).map(drop)
    }

    /// Moves the remaining keys of a slot, and then the slot.
    ///
    /// # Errors
    /// If a node does not respond.
    pub fn end_move(&self, slot_move: &SlotMove) -> Result<(), EngineError> {
        let SlotMove { slot, from, to } = slot_move;
        let keys = self.run_command(*from, &["CLUSTER", "GETKEYSINSLOT", slot, "10000"])?;
        for key in keys.lines().filter(|key| !key.is_empty()) {
            self.move_key(slot_move, key)?;
        }
        for node in [*to, *from] {
            self.run_command(node, &["CLUSTER", "SETSLOT", slot, "NODE", &self.node_id(*to)?])?;
        }
        Ok(())
    }

    /// Returns a node's id, even if the node does not respond.
    fn node_id(&self, number: usize) -> Result<String, EngineError> {
        let mut lines = self.node_lines()?.into_iter();
        let line = lines.find(|line| self.node_number(line) == Some(number));
        Ok(line.ok_or_else(|| cluster_error(format!("node {number} is not in the cluster")))?.id)
    }

    /// Waits until three primaries own all slots, each has a replica, and all nodes agree.
    ///
    /// # Errors
    /// If the cluster is not complete within a minute.
    pub fn wait_until_complete(&self) -> Result<(), EngineError> {
        self.wait_until("all nodes agree", || {
            for number in 0..self.nodes.len() {
                let info = self.run_command(number, &["CLUSTER", "INFO"])?;
                let lines = parse_lines(&self.run_command(number, &["CLUSTER", "NODES"])?);
                let primaries = lines.iter().filter(|line| line.is_primary()).count();
                let replicas = lines.iter().filter(|line| line.primary.is_some()).count();
                let is_complete = lines.len() == self.nodes.len()
                    && lines.iter().all(NodeLine::is_alive)
                    && (primaries, replicas) == (SHARDS, SHARDS)
                    && info.contains("cluster_state:ok");
                let replication = self.run_command(number, &["INFO", "replication"])?;
                let is_linked = replication.contains("role:master")
                    || replication.contains("master_link_status:up");
                if !is_complete || !is_linked {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn wait_until(
        &self,
        event: &str,
        mut has_happened: impl FnMut() -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        let start = Instant::now();
        while !has_happened().unwrap_or_default() {
            if start.elapsed() > TIMEOUT {
                let nodes = self.node_lines();
                return Err(cluster_error(format!("timed out before {event}: {nodes:?}")));
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Returns the nodes, as reported by the first node that responds.
    fn node_lines(&self) -> Result<Vec<NodeLine>, EngineError> {
        let mut last_error = cluster_error("no node responds".to_owned());
        for node in self.nodes.iter().filter(|node| node.is_responsive()) {
            let port = node.port().to_string();
            match self.run_cli(&["-p", &port, "CLUSTER", "NODES"].map(str::to_owned)) {
                Ok(output) => return Ok(parse_lines(&output)),
                Err(error) => last_error = error,
            }
        }
        Err(last_error)
    }

    fn node_number(&self, line: &NodeLine) -> Option<usize> {
        self.nodes.iter().position(|node| node.port() == line.port)
    }

    fn run_cli(&self, arguments: &[String]) -> Result<String, EngineError> {
        let output = Command::new(&self.cli).args(arguments).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(text);
        }
        Err(cluster_error(text + &String::from_utf8_lossy(&output.stderr)))
    }
}

fn cluster_error(reason: String) -> EngineError {
    EngineError::Failed { name: "redis cluster".to_owned(), reason, log: String::new() }
}

fn start_node(
    node_timeout: Duration,
    extra_options: Vec<(&str, String)>,
) -> Result<Redis, EngineError> {
    let options = [
        ("--cluster-enabled", "yes".to_owned()),
        ("--cluster-config-file", "nodes.conf".to_owned()),
        ("--cluster-node-timeout", node_timeout.as_millis().to_string()),
        ("--cluster-require-full-coverage", "no".to_owned()),
        ("--cluster-port", free_port()?.to_string()),
        ("--repl-diskless-sync-delay", "0".to_owned()),
    ]
    .into_iter()
    .chain(extra_options);
    Redis::start_with(options.flat_map(|(name, value)| [name.to_owned(), value]).collect())
}
