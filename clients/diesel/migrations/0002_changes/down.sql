drop view busy; drop index people_name; alter table people drop column nick, alter column balance set default 0;
