-- The cookie that the browser of a request had before its user signed in or out. Whoever presses the
-- button twice sends it twice, and the second time must not find the request gone.
alter table requests add column came_from text;
