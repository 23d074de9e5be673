-- The address that a person gave at sign-up. Nobody has verified it, so it is neither unique nor
-- accepted at sign-in.
alter table accounts add column unverified_email text;

-- The binding of the code that the token was issued for (JSON), to ask again if the app sends
-- another redirect URI.
alter table tokens add column binding text;
