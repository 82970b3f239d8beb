//! The intended order of a crate's modules, from `layers.txt`.
//!
//! ```text
//! [engine]                 the crate
//! backup check             a layer: modules that do not use one another
//! recovery checkpoint      the layer below; a module uses layers below its own only
//! debt: log -> txn         an arrow that runs up, or beside, and has to go
//! circle: txn: write undo: REASON    children of a folder that may use one another
//! ```

use std::collections::{BTreeMap, BTreeSet};

use crate::arrows::CrateMap;
use crate::crates::{Uses, nearest};

/// The layers of one crate, the uppermost first.
#[derive(Clone, Debug, Default)]
pub struct Order {
    pub layers: Vec<Vec<String>>,
    pub debts: BTreeSet<(String, String)>,
    /// By folder and members.
    pub circles: BTreeSet<(String, BTreeSet<String>)>,
}

/// Reads all of `layers.txt`.
pub fn parse(text: &str) -> BTreeMap<String, Order> {
    let mut orders: BTreeMap<String, Order> = BTreeMap::new();
    let mut current = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            current = Some(orders.entry(name.to_string()).or_default());
            continue;
        }
        let order = current
            .as_mut()
            .unwrap_or_else(|| panic!("layers.txt:{}: no crate yet", number + 1));
        if let Some(debt) = line.strip_prefix("debt:") {
            let (from, to) = debt
                .split_once("->")
                .unwrap_or_else(|| panic!("layers.txt:{}: a debt is `debt: from -> to`", number + 1));
            let new = order
                .debts
                .insert((from.trim().to_string(), to.trim().to_string()));
            assert!(new, "layers.txt:{}: the debt stands twice", number + 1);
        } else if let Some(circle) = line.strip_prefix("circle:") {
            let circle = circle_of(circle).unwrap_or_else(|| {
                panic!(
                    "layers.txt:{}: a circle is `circle: folder: its children: reason`",
                    number + 1
                )
            });
            order.circles.insert(circle);
        } else {
            let layer = line.split_whitespace().map(String::from);
            order.layers.push(layer.collect());
        }
    }
    orders
}

/// `folder: children: reason`, with a reason.
fn circle_of(line: &str) -> Option<(String, BTreeSet<String>)> {
    let (folder, rest) = line.split_once(':')?;
    let (members, reason) = rest.split_once(':')?;
    let members = members.split_whitespace().map(String::from).collect();
    (!reason.trim().is_empty()).then(|| (folder.trim().to_string(), members))
}

impl Order {
    /// The layer of a module, counted from the top.
    fn layer(&self, module: &str) -> Option<usize> {
        self.layers
            .iter()
            .position(|layer| layer.iter().any(|known| known == module))
    }

    /// What is wrong between the order and the code, in words that say what to do.
    pub fn complaints(&self, name: &str, map: &CrateMap) -> Vec<String> {
        let mut complaints = Vec::new();
        for module in &map.modules {
            if self.layer(module).is_none() {
                complaints.push(format!(
                    "{name}: module `{module}` stands in no layer of layers.txt"
                ));
            }
        }
        for module in self.layers.iter().flatten() {
            if !map.modules.contains(module) {
                complaints.push(format!("{name}: layers.txt names `{module}`, which is no module"));
            }
        }
        for ((from, to), places) in &map.arrows {
            let debt = self.debts.contains(&(from.clone(), to.clone()));
            let (Some(upper), Some(lower)) = (self.layer(from), self.layer(to)) else {
                continue;
            };
            let examples: Vec<&str> = places.iter().take(3).map(String::as_str).collect();
            let examples = examples.join("; ");
            match (upper < lower, debt) {
                (false, false) => complaints.push(format!(
                    "{name}: `{from}` uses `{to}`, which is not below it ({} places: {examples}). Move the item down, or \
                     give the lower module a trait",
                    places.len()
                )),
                (true, true) => complaints.push(format!(
                    "{name}: the debt {from} -> {to} does not run up: strike it from layers.txt"
                )),
                _ => {}
            }
        }
        for (from, to) in &self.debts {
            if !map.arrows.contains_key(&(from.clone(), to.clone())) {
                complaints.push(format!(
                    "{name}: the debt {from} -> {to} is paid: strike it from layers.txt"
                ));
            }
        }
        complaints.extend(self.circle_complaints(name, map));
        complaints
    }

    fn circle_complaints(&self, name: &str, map: &CrateMap) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut argued = self.circles.clone();
        for circle in &map.circles {
            if !argued.remove(&(circle.folder.clone(), circle.members.clone())) {
                let members: Vec<&str> = circle.members.iter().map(String::as_str).collect();
                complaints.push(format!(
                    "{name}/src/{}: {} use one another: {}. Move what both sides need to where it uses neither",
                    circle.folder,
                    members.join(", "),
                    circle.arrows.join("; ")
                ));
            }
        }
        let gone = argued.into_iter().map(|(folder, members)| {
            let members = members.into_iter().collect::<Vec<_>>().join(" ");
            format!("{name}: there is no circle of {members} in {folder}: strike it from layers.txt")
        });
        complaints.extend(gone);
        complaints
    }
}

/// The crates, what each uses (and through it all that this uses), and their layers, as ARCHITECTURE.md shows them.
pub fn picture(crates: &[(String, Order, CrateMap)], uses: &Uses) -> String {
    let mut out = String::from(
        "| crate | uses | layers, the uppermost first | arrows | of them up |\n|---|---|---|---|---|\n",
    );
    for (name, order, map) in crates {
        let layers: Vec<String> = order.layers.iter().map(|layer| layer.join(" ")).collect();
        out.push_str(&format!(
            "| `{name}` | {} | {} | {} | {} |\n",
            nearest(uses, name).into_iter().collect::<Vec<_>>().join(" "),
            layers.join(" > "),
            map.arrows.len(),
            order.debts.len()
        ));
    }
    out
}
