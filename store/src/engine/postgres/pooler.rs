//! Detects a connection pooler that assigns a server connection to each transaction or
//! statement, such as PgBouncer in transaction mode.
//!
//! Behind such a pooler, another client may use the server connection that has our prepared
//! statements, and LISTEN has no effect. The pooler is detected by the server's process ids: two
//! of our connections have the same one, or one connection has several.

use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error::StoreError;

const POOLER_MESSAGE: &str = "the connection goes through a pooler that assigns a server \
    connection to each transaction, so LISTEN does not work; configure the \
    pooler with pool_mode = session, or connect to PostgreSQL directly";

/// Rejects connections through such a pooler, without changing anything in its server connections.
pub(crate) async fn check_pool_mode(first: &Client, second: &Client) -> Result<(), StoreError> {
    let mut process_ids = [None, None];
    // The clients alternate, because a pooler usually reuses the most recent server connection.
    // Each also queries twice in a row, because a pooler may assign them in turn.
    for turn in [0, 1, 1, 0, 0, 1] {
        let process_id = server_process_id(if turn == 0 { first } else { second }).await?;
        let expected_id = process_ids[turn].get_or_insert_with(|| process_id.clone());
        if *expected_id != process_id || process_ids[0] == process_ids[1] {
            return Err(StoreError::Failed(POOLER_MESSAGE.to_owned()));
        }
    }
    Ok(())
}

/// Returns the server's process id. No prepared statement is used, because the pooler might send it
/// to another server connection.
async fn server_process_id(client: &Client) -> Result<String, StoreError> {
    let messages = client.simple_query("select pg_backend_pid()").await?;
    let process_id = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    process_id.ok_or(StoreError::Unreadable("process id"))
}
