//! The output of `CLUSTER NODES`: one node's report about all nodes of its cluster.

/// A line of `CLUSTER NODES`: one node, as reported by a node of the cluster.
#[derive(Debug, Clone)]
pub(crate) struct NodeLine {
    pub(crate) id: String,
    pub(crate) port: u16,
    flags: Vec<String>,
    /// The id of the node's primary; `None` for a primary.
    pub(crate) primary: Option<String>,
    slot_ranges: usize,
}

impl NodeLine {
    /// Returns whether the node is a primary that owns slots.
    pub(crate) fn is_primary(&self) -> bool {
        self.primary.is_none() && self.slot_ranges > 0
    }

    /// Returns whether the reporting node can reach this node.
    pub(crate) fn is_alive(&self) -> bool {
        !self.flags.iter().any(|flag| flag.starts_with("fail") || flag == "handshake")
    }
}

pub(crate) fn parse_lines(output: &str) -> Vec<NodeLine> {
    output.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<NodeLine> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [id, address, flags, primary, _, _, _, _, slot_ranges @ ..] = fields.as_slice() else {
        return None;
    };
    let (_, port) = address.split_once('@')?.0.rsplit_once(':')?;
    Some(NodeLine {
        id: (*id).to_owned(),
        port: port.parse().ok()?,
        flags: flags.split(',').map(str::to_owned).collect(),
        primary: (*primary != "-").then(|| (*primary).to_owned()),
        slot_ranges: slot_ranges.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_and_failures_are_parsed() {
        let output = "\
07c3 127.0.0.1:30004@31004,host slave e7d1 0 1426238317239 4 connected
e7d1 127.0.0.1:30001@31001 myself,master - 0 0 1 connected 0-5460 9000
67ed 127.0.0.1:30002@31002 master,fail - 0 1426238316232 2 disconnected
";
        let lines = parse_lines(output);
        let summary: Vec<_> =
            lines.iter().map(|line| (line.port, line.is_primary(), line.is_alive())).collect();
        assert_eq!(summary, [(30_004, false, true), (30_001, true, true), (30_002, false, false)]);
        assert_eq!(lines[0].id, "07c3");
        assert_eq!(lines[0].primary.as_deref(), Some("e7d1"));
    }
}
