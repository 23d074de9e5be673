//! Tests that run on both engines.

/// Defines the tests `sqlite::case` and `postgres::case` for every case. A case gets what the function
/// `start` makes of a new database.
macro_rules! on_both_engines {
    ($start:path: $($case:ident),* $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    let database = crate::support::TestDatabase::sqlite();
                    super::$case($start(database).await).await;
                }
            )*
        }
        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(database) = crate::support::TestDatabase::postgres().await {
                        super::$case($start(database).await).await;
                    }
                }
            )*
        }
    };
}
pub(crate) use on_both_engines;
