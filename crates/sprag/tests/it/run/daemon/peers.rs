//! Bad clients of the socket: the loop of the daemon continues.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;

use sprag_base::result::Discard as _;
use sprag_orchestrator::socket::client;
use sprag_orchestrator::socket::protocol::{self, DaemonReply, DaemonRequest, PROTOCOL, PersonToken, Topic};
use sprag_plan::stage::command::CommandRole;

use super::{House, waits};

fn code(reply: DaemonReply) -> String {
    match reply {
        DaemonReply::Refused { code, .. } => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn hostile_peers_are_refused_and_the_loop_goes_on() {
    let house = House::new();
    let desk = &house.desk;
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; {}", waits(&house)), "true")]);
    assert_eq!(house.run(&[]).code, 0);
    assert_eq!(std::fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
    let path = house.folder().join("door/sock");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let connect = || UnixStream::connect(&path).unwrap();
    let says = |bytes: &[u8]| {
        let mut stream = connect();
        stream.write_all(bytes).unwrap();
        code(protocol::read(&mut stream).unwrap())
    };
    let framed = |request: &DaemonRequest| {
        let mut bytes = Vec::new();
        protocol::write(&mut bytes, request).unwrap();
        bytes
    };
    let hello = |token: Option<&str>| {
        framed(&DaemonRequest::Hello { proto: PROTOCOL, token: token.map(|it| PersonToken(it.to_owned())) })
    };
    assert_eq!(says(&hello(None)), "no_token");
    assert_eq!(says(&hello(Some("0123"))), "no_token");
    assert_eq!(says(&framed(&DaemonRequest::Ping)), "no_hello");
    assert_eq!(says(&u32::MAX.to_be_bytes()), "no_hello");
    assert_eq!(says(&[0, 0, 0, 3, b'n', b'o', b'!']), "no_hello");
    assert_eq!(says(&framed(&DaemonRequest::Hello { proto: 99, token: None })), "other_version");
    // Half a frame, and a queue of connections that send nothing else.
    let half: Vec<UnixStream> = (0..100)
        .map(|_| {
            let mut stream = connect();
            stream.write_all(&[0, 0]).discard("a daemon that is full hangs up first");
            stream
        })
        .collect();
    let mut last = half.last().unwrap();
    assert_eq!(code(protocol::read(&mut last).unwrap()), "full");
    drop(half);
    // A frame above the limit, after a valid greeting.
    let token = std::fs::read_to_string(house.folder().join("token")).unwrap();
    let mut stream = loop {
        let mut stream = connect();
        if stream.write_all(&hello(Some(&token))).is_ok()
            && matches!(protocol::read(&mut stream), Ok(DaemonReply::Hello { role: CommandRole::User, .. }))
        {
            break stream;
        }
    };
    stream.write_all(&(10u32 << 20).to_be_bytes()).unwrap();
    assert_eq!(code(protocol::read(&mut stream).unwrap()), "too_long");
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0, "and it is shown the door");
    // A subscriber that never reads blocks no other connection.
    let mut deaf = client::connect(&house.folder(), CommandRole::User).unwrap();
    assert_eq!(deaf.ask(&DaemonRequest::Subscribe { to: Topic::Logs }).unwrap(), DaemonReply::Done);
    let mut good = client::connect(&house.folder(), CommandRole::User).unwrap();
    assert_eq!(good.ask(&DaemonRequest::Ping).unwrap(), DaemonReply::Pong);
    assert_eq!(
        code(
            good.ask(&DaemonRequest::Stop { how: sprag_plan::reconcile::observed::StopMode::Kill }).unwrap()
        ),
        "not_yours"
    );
    std::fs::write(house.home("pipe"), "go\n").unwrap();
    house.wait();
    assert_eq!(desk.on_trunk("a"), "a");
}

#[test]
fn who_subscribes_is_told_when_something_changes() {
    let house = House::new();
    let desk = &house.desk;
    desk.plan(&[desk.stage("a", &[], &format!("echo a >a; {}", waits(&house)), "true")]);
    assert_eq!(house.run(&[]).code, 0);
    assert_eq!(std::fs::read_to_string(house.home("pipe")).unwrap(), "up\n");
    let mut client = client::connect(&house.folder(), CommandRole::User).unwrap();
    assert_eq!(client.ask(&DaemonRequest::Subscribe { to: Topic::Status }).unwrap(), DaemonReply::Done);
    let mut next = || match client.receive().unwrap() {
        Some(DaemonReply::Status { status }) => {
            Some(status["stages"][0]["state"].as_str().unwrap().to_owned())
        }
        None => None,
        other => panic!("{other:?}"),
    };
    assert!(next().is_some(), "how it stands is told at once");
    std::fs::write(house.home("pipe"), "go\n").unwrap();
    let told: Vec<String> = std::iter::from_fn(next).collect();
    assert_eq!(told.last().map(String::as_str), Some("done"), "{told:?}");
}
