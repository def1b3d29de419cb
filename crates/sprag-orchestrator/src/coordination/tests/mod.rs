//! Runs the conformance tests for files and for a network that loses messages.

mod conformance;
mod files;
mod memory;

use conformance::conforms;

#[test]
fn files_of_one_machine_conform() {
    conforms(files::Machine::new, 30);
}

#[test]
fn a_network_that_loses_messages_and_holders_conforms() {
    conforms(memory::Network::default, 2000);
}
