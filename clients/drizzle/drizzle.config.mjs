export default {
  dialect: "postgresql",
  schema: "./schema.mjs",
  out: process.env.MOTE_CLIENT_OUT ?? "./drizzle",
  dbCredentials: { url: process.env.DATABASE_URL },
};
