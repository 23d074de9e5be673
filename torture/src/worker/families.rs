//! A worker's sign-ins with a public client: token families that are refreshed and ended.

use super::{Worker, choose_index};
use crate::Result;
use crate::app::App;
use crate::client::Response;
use crate::load::Load;
use crate::public_client::{PublicClient, TokenPair};

/// Maximum number of families that a worker refreshes.
const FAMILIES_PER_WORKER: usize = 2;

/// Maximum number of ended families that a worker checks again after each round.
const MAX_ENDED_FAMILIES: usize = 4;

pub(super) struct Family {
    /// The tokens of the last acknowledged response.
    tokens: TokenPair,
    state: FamilyState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FamilyState {
    Live,
    /// The last refresh was not acknowledged.
    MaybeRefreshed,
    /// The revocation was not acknowledged.
    MaybeEnded,
    Ended,
}

impl Worker {
    /// Signs in once, so that the first round can refresh.
    pub(crate) fn add_family(&mut self, public_client: PublicClient) -> Result<()> {
        let response = public_client.authorize(&self.client, &self.user)?;
        let code = App::extract_code(&response).ok_or_else(|| format!("no code: {response:?}"))?;
        let request = public_client.redemption_request(&code);
        let tokens = TokenPair::read(&self.client.send_successfully(&request)?)?;
        self.families.push(Family { tokens, state: FamilyState::Live });
        self.public_client = Some(public_client);
        Ok(())
    }

    /// Signs in, or refreshes or ends a family.
    pub(super) fn write_family(&mut self, load: &Load, public_client: &PublicClient) {
        let live_count = self.families.iter().filter(|family| family.is_live()).count();
        match self.rng.u8(0..8) {
            _ if live_count == 0 => self.sign_in(load, public_client),
            0 => self.end_family(load),
            1 if live_count < FAMILIES_PER_WORKER => self.sign_in(load, public_client),
            _ => self.refresh_family(load, public_client),
        }
    }

    /// Signs in. A code whose redemption is not acknowledged is discarded.
    fn sign_in(&mut self, load: &Load, public_client: &PublicClient) {
        let result = public_client.authorize(&self.client, &self.user);
        let Some(response) = self.record_write(load, result) else { return };
        let Some(code) = App::extract_code(&response) else {
            return self.outcome.record_loss(format!(
                "{}: no code of a public client for a signed-in user: {} {}",
                self.name, response.status, response.location
            ));
        };
        let request = public_client.redemption_request(&code);
        let Some(response) = self.send_write(load, &request) else { return };
        if let Some(tokens) = self.read_tokens(&response) {
            self.families.push(Family { tokens, state: FamilyState::Live });
        }
    }

    fn refresh_family(&mut self, load: &Load, public_client: &PublicClient) {
        let Some(index) = choose_index(&mut self.rng, &self.families, Family::is_live) else {
            return;
        };
        let request = public_client.refresh_request(&self.families[index].tokens.refresh);
        let Some(response) = self.send_write(load, &request) else {
            self.families[index].state = FamilyState::MaybeRefreshed;
            return;
        };
        if let Some(tokens) = self.read_tokens(&response) {
            self.families[index].tokens = tokens;
        }
    }

    fn end_family(&mut self, load: &Load) {
        let Some(index) = choose_index(&mut self.rng, &self.families, Family::is_live) else {
            return;
        };
        let tokens = &self.families[index].tokens;
        let token = if self.rng.bool() { &tokens.access } else { &tokens.refresh };
        let request = PublicClient::revocation_request(token);
        let is_acknowledged = self.send_write(load, &request).is_some();
        self.families[index].state =
            if is_acknowledged { FamilyState::Ended } else { FamilyState::MaybeEnded };
    }

    fn read_tokens(&mut self, response: &Response) -> Option<TokenPair> {
        let tokens = TokenPair::read(response);
        tokens.map_err(|error| self.outcome.record_loss(format!("{}: {error}", self.name))).ok()
    }

    /// Checks that the newest tokens of live families are valid, also if the response to a refresh
    /// was lost, and that ended families remain ended.
    pub(super) fn verify_families(&mut self, public_client: &PublicClient) -> Result<()> {
        for Family { tokens, state } in std::mem::take(&mut self.families) {
            let access_status = self.token_status(&tokens.access)?;
            let request = public_client.refresh_request(&tokens.refresh);
            let response = self.client.send_until_available(&request)?;
            let is_refreshed = access_status == 200 && response.status == 200;
            let is_rejected = access_status == 401 && response.is_invalid_grant();
            let is_expected = match state {
                FamilyState::Live | FamilyState::MaybeRefreshed => is_refreshed,
                FamilyState::Ended => is_rejected,
                // A killed server's write may still be in progress in PostgreSQL, and take effect
                // between the two requests.
                FamilyState::MaybeEnded => {
                    matches!(access_status, 200 | 401)
                        && (response.status == 200 || response.is_invalid_grant())
                }
            };
            self.outcome.check(is_expected, || {
                format!(
                    "a family is {state:?}, its access token got {access_status}, and its refresh \
                     token {} {}",
                    response.status, response.body
                )
            });
            match state {
                FamilyState::Live | FamilyState::MaybeRefreshed => {
                    let Some(tokens) = self.read_tokens(&response) else { continue };
                    let access_status = self.token_status(&tokens.access)?;
                    self.outcome.check(access_status == 200, || {
                        format!("a refreshed access token got {access_status}")
                    });
                    self.families.push(Family { tokens, state: FamilyState::Live });
                }
                FamilyState::Ended => self.families.push(Family { tokens, state }),
                FamilyState::MaybeEnded => {}
            }
        }
        let ended_count = self.families.iter().filter(|family| !family.is_live()).count();
        let mut excess_count = ended_count.saturating_sub(MAX_ENDED_FAMILIES);
        self.families.retain(|family| {
            let is_excess = !family.is_live() && excess_count > 0;
            excess_count -= usize::from(is_excess);
            !is_excess
        });
        Ok(())
    }
}

impl Family {
    fn is_live(&self) -> bool {
        self.state == FamilyState::Live
    }
}
