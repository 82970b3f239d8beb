//! A session that must not notice what another one does to the server.

use crate::TestServer;
use crate::wire::RawClient;

/// A server, and a session that must not notice anything.
pub fn start(name: &str) -> (TestServer, RawClient) {
    let server = TestServer::start(name);
    let mut bystander = RawClient::connect(&server);
    bystander.rows("create table kept (id int primary key); insert into kept values (1)");
    bystander.rows("begin; insert into kept values (2)");
    (server, bystander)
}

/// The bystander's open transaction still commits, and the server is well.
#[track_caller]
pub fn finish(mut server: TestServer, mut bystander: RawClient) {
    bystander.rows("commit");
    assert_eq!(bystander.rows("select count(*) from kept"), ["2"]);
    server.assert_unharmed();
}
