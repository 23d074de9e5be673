//! x
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use belfry::clock::{Clock, SystemClock};
use belfry::config::{Config, Database, LimitMode};
use belfry::http::{Belfry, Peer, Site};
use belfry::random;
use belfry::store::{Account, App, NewToken, Store};

fn worked() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split_whitespace().next().unwrap().parse().unwrap())
}

fn main() {
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        let mut sites = vec![];
        for (mode, most) in
            [(LimitMode::Off, u32::MAX), (LimitMode::Enforce, u32::MAX), (LimitMode::Enforce, 0)]
        {
            let dir =
                std::env::temp_dir().join(format!("lc-{}-{mode:?}-{most}", std::process::id()));
            let mut config = Config::default();
            config.limits.mode = mode;
            config.limits.rows =
                toml::from_str(&format!("account={{requests={most}}}\nip={{requests={most}}}"))
                    .unwrap();
            let clock = Arc::new(SystemClock);
            let store = Store::open(
                &Database::Sqlite(dir.join("b.db")),
                &config.store_options(),
                clock.now(),
            )
            .await
            .unwrap();
            let app = App {
                id: 1,
                client_id: "t".into(),
                secret: random::secret().digest(),
                name: "T".into(),
                website: None,
                redirect_uris: vec![],
                scopes: "read".into(),
                created_at: clock.now(),
                disabled_at: None,
            };
            store.add_app(&app).await.unwrap();
            let account = Account {
                id: random::id(clock.now()),
                name: "a".into(),
                email: None,
                password: "x".into(),
                created_at: clock.now(),
                disabled_at: None,
            };
            store.add_account(&account).await.unwrap().unwrap();
            let token = random::secret();
            store
                .add_token(&NewToken {
                    digest: token.digest(),
                    app: 1,
                    account: Some(account.id),
                    scopes: "read".into(),
                    created_at: clock.now(),
                    expires_at: None,
                })
                .await
                .unwrap();
            let belfry = Arc::new(
                Belfry::new(config, "http://a".parse().unwrap(), store, clock).await.unwrap(),
            );
            sites.push((format!("{mode:?} {most}"), Site::new(belfry), token.reveal().to_owned()));
        }
        for _ in 0..4 {
            for (name, site, token) in &sites {
                let n = 100_000;
                let bearer = format!("Bearer {token}");
                let t = worked();
                for _ in 0..n {
                    let request = Request::get("/_matrix/client/v3/pushrules/")
                        .extension(Peer(SocketAddr::from(([192, 0, 2, 1], 1))))
                        .header("authorization", &bearer)
                        .header("host", "a")
                        .body(Body::empty())
                        .unwrap();
                    std::hint::black_box(site.answer(request).await);
                }
                println!("{name:24} {:.0} ns", (worked() - t).as_nanos() as f64 / f64::from(n));
            }
        }
    });
}
