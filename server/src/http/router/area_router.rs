//! Routers whose routes all belong to one area, and the router that joins them.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, any};

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::layer::area::{Area, Route, UNMATCHED};
use crate::metrics::RouteMetrics;

pub(crate) struct AreaRouter {
    pub(crate) area: Area,
    pub(crate) routes: PathRouter,
    /// Catch-all routes, in a second router, because one router cannot have a parameter and a
    /// catch-all at the same position.
    pub(crate) catch_all: PathRouter,
    /// Path prefixes, with their replacements in patterns.
    prefixes: Vec<(String, &'static str)>,
}

#[derive(Default)]
pub(crate) struct PathRouter {
    router: Router<AppState>,
    pub(crate) paths: Vec<String>,
}

impl PathRouter {
    fn add(&mut self, path: String, methods: MethodRouter<AppState>) {
        self.router = std::mem::take(&mut self.router).route(&path, methods);
        self.paths.push(path);
    }
}

impl AreaRouter {
    pub(crate) fn new(area: Area) -> Self {
        Self {
            area,
            routes: PathRouter::default(),
            catch_all: PathRouter::default(),
            prefixes: Vec::new(),
        }
    }

    /// Replaces a path prefix in route patterns, so that equivalent paths have one pattern. The
    /// first prefix that matches a path applies.
    pub(crate) fn replace_prefix(mut self, prefix: &str, replacement: &'static str) -> Self {
        self.prefixes.push((prefix.to_owned(), replacement));
        self
    }

    /// Returns a route's pattern: its path with the prefix replaced, and without the trailing
    /// slash that the area ignores.
    fn pattern(&self, path: &str) -> String {
        let path = match path.strip_suffix('/') {
            Some(without_slash) if self.area.ignores_trailing_slash => without_slash,
            _ => path,
        };
        let mut prefixes = self.prefixes.iter();
        prefixes
            .find_map(|(prefix, replacement)| {
                Some(format!("{replacement}{}", path.strip_prefix(prefix)?))
            })
            .unwrap_or_else(|| path.to_owned())
    }

    /// Adds a route, and one with a trailing slash if the area ignores it.
    pub(crate) fn route(mut self, path: &str, methods: MethodRouter<AppState>) -> Self {
        if self.area.ignores_trailing_slash {
            self.routes.add(format!("{path}/"), methods.clone());
        }
        self.routes.add(path.to_owned(), methods);
        self
    }

    /// Assigns `prefix` and all unknown paths below it to the area, with the error 404.
    pub(crate) fn not_found_under(self, prefix: &str) -> Self {
        let not_found = || any(async || CommonError::NotFound);
        let mut router = self.catch_all_under(prefix, not_found());
        router.catch_all.add(prefix.to_owned(), not_found());
        router.catch_all.add(format!("{prefix}/"), not_found());
        router
    }

    /// Handles this path, unless a route matches it.
    pub(crate) fn catch_all(mut self, path: &str, methods: MethodRouter<AppState>) -> Self {
        self.catch_all.add(path.to_owned(), methods);
        self
    }

    /// Handles all paths below this one that no other route matches.
    pub(crate) fn catch_all_under(mut self, prefix: &str, methods: MethodRouter<AppState>) -> Self {
        self.catch_all.add(format!("{prefix}/{{*path}}"), methods);
        self
    }

    /// Handles requests with a method that the routes added so far do not support.
    pub(crate) fn method_not_allowed_fallback<T: 'static>(
        mut self,
        handler: impl Handler<T, AppState>,
    ) -> Self {
        self.routes.router = self.routes.router.method_not_allowed_fallback(handler);
        self
    }
}

/// All routes, and the areas and patterns of their paths.
pub(crate) struct Routes {
    pub(crate) router: Router,
    by_path: [matchit::Router<Route>; 2],
    unmatched: Route,
    /// The metrics of each pattern, by its index. The first pattern is `UNMATCHED`.
    pub(crate) metrics: Vec<Arc<RouteMetrics>>,
}

impl Routes {
    pub(crate) fn join(area_routers: Vec<AreaRouter>, fallback: Area, state: &AppState) -> Self {
        let mut router = Router::new();
        let mut catch_all_router = Router::new().fallback(async || CommonError::NotFound);
        let mut by_path = [matchit::Router::new(), matchit::Router::new()];
        let [route_paths, catch_all_paths] = &mut by_path;
        let mut patterns = vec![UNMATCHED];
        let insert = |paths: &mut matchit::Router<Route>, path: &str, route: Route| {
            paths.insert(path, route).expect("the router accepted this path");
        };
        for area_router in area_routers {
            let unmatched = Route { area: area_router.area, pattern: UNMATCHED, index: 0 };
            for path in &area_router.routes.paths {
                let (index, pattern) = intern_pattern(&mut patterns, area_router.pattern(path));
                insert(route_paths, path, Route { pattern, index, ..unmatched });
            }
            for path in &area_router.catch_all.paths {
                insert(catch_all_paths, path, unmatched);
            }
            router = router.merge(area_router.routes.router);
            catch_all_router = catch_all_router.merge(area_router.catch_all.router);
        }
        let router = router
            .method_not_allowed_fallback(async || CommonError::MethodNotAllowed)
            .fallback_service(catch_all_router.with_state(state.clone()));
        let unmatched = Route { area: fallback, pattern: UNMATCHED, index: 0 };
        let metrics =
            patterns.into_iter().map(|pattern| state.metrics.http.route(pattern)).collect();
        Self { router: router.with_state(state.clone()), by_path, unmatched, metrics }
    }

    /// Returns the route for a path. The layer applies the policies of its area before the router
    /// runs, so that rejecting a request stays cheap.
    pub(crate) fn find(&self, path: &str) -> Route {
        let route = self.by_path.iter().find_map(|routes| routes.at(path).ok());
        route.map_or(self.unmatched, |route| *route.value)
    }
}

/// Returns the index of a pattern and the stored pattern, which is added if it is new.
fn intern_pattern(patterns: &mut Vec<&'static str>, pattern: String) -> (usize, &'static str) {
    if let Some(index) = patterns.iter().position(|known_pattern| *known_pattern == pattern) {
        return (index, patterns[index]);
    }
    // Leaked, because routes exist until the process ends.
    let pattern = pattern.leak();
    patterns.push(pattern);
    (patterns.len() - 1, pattern)
}
