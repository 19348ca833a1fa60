/** The rows of trail.ts. */
import type { Kysely, Migration } from 'kysely';

export type TrailRow = {
  /** In order of time, and of writing within a process. */
  id: string;
  digest: string;
  /** Unix milliseconds. */
  at: number;
  what: string;
  detail: string;
};

export type TrailTables = { relay_trail: TrailRow };

export const trailMigrations: Readonly<Record<string, Migration>> = {
  'relay-trail-001': {
    up: async (db: Kysely<unknown>) => {
      await db.schema
        .createTable('relay_trail')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('digest', 'text', (column) => column.notNull())
        .addColumn('at', 'bigint', (column) => column.notNull())
        .addColumn('what', 'text', (column) => column.notNull())
        .addColumn('detail', 'text', (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex('relay_trail_digest')
        .on('relay_trail')
        .columns(['digest', 'id'])
        .execute();
      await db.schema.createIndex('relay_trail_at').on('relay_trail').column('at').execute();
    },
  },
};
