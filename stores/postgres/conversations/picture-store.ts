import { v7 as uuidv7 } from "uuid";
import { dataUrl, type Picture, pictureBytes, type PictureDetail, type PictureFile } from "../../../turn/picture.ts";
import type { PictureType } from "../../../turn/measure-picture.ts";
import type { Owner, OwnerScope } from "../../../turn/owner.ts";
import type { Database, Queryable, StatementValue } from "../database/database.ts";

/** A picture of a message, without its bytes. `url` is null for a kept one, `file` for one at an address. */
export interface StoredAttachment {
  position: number;
  url: string | null;
  detail: PictureDetail | null;
  file: Omit<PictureFile, "hash"> | null;
}

export type FoundPicture = { url: null; mediaType: PictureType; hash: string; bytes: Buffer } | { url: string };

export interface PictureStore {
  /** The messages' pictures, in order. Only the newest kept ones load, `mostBytes` together; messages without pictures are left out. */
  ofMessages(owner: Owner, messageIds: readonly string[], mostBytes: number): Promise<Map<string, Picture[]>>;
  /** Null when there is none, also for one of others. */
  find(scope: OwnerScope, messageId: string, position: number): Promise<FoundPicture | null>;
}

/** SQL: the words of a message as `wordsWithPictures` has them. */
export const wordsSql = (message: string): string => `case when ${message}.picture_count = 0 then ${message}.content
  else concat_ws(E'\\n', nullif(${message}.content, ''), '[' || case ${message}.picture_count when 1 then '' else ${message}.picture_count || ' ' end
    || case ${message}.picture_count when 1 then 'picture' else 'pictures' end || ' 图片]') end`;

/** SQL: the JSON of `StoredAttachment[]`; null for a message without pictures. */
export const attachmentsSql = (message: string): string => `case when ${message}.picture_count > 0 then (
  select json_agg(json_build_object('position', shown.position, 'url', shown.url, 'detail', shown.detail, 'file', case when kept.id is not null then
    json_build_object('mediaType', media_type, 'width', width, 'height', height, 'byteCount', byte_count) end) order by shown.position)
  from message_pictures shown left join pictures kept on kept.id = picture_id where shown.message_id = ${message}.id) end`;

const PLACES_BEFORE = 4;
const PLACES_OF_PICTURE = 9;

/** $1 message, $2 conversation, $3 tenant, $4 user. The update protects an existing picture from an erase of its last message. */
const storeSql = (count: number): string => `
with given (position, id, hash, media_type, width, height, byte_count, bytes, url, detail) as (values ${Array.from(
  { length: count },
  (_, index) => {
    const types = ["uuid", "text", "text", "integer", "integer", "integer", "bytea", "text", "text"];
    const places = types.map((type, place) => `$${PLACES_BEFORE + index * PLACES_OF_PICTURE + place + 1}::${type}`);
    return `(${index}, ${places.join(", ")})`;
  },
).join(", ")}), kept as (
  insert into pictures (id, tenant_id, user_id, hash, media_type, width, height, byte_count, bytes, created_at)
  select distinct on (hash) id, $3, $4, hash, media_type, width, height, byte_count, bytes, clock_timestamp()
  from given where hash is not null order by hash, position
  on conflict (tenant_id, user_id, hash) do update set byte_count = excluded.byte_count
  returning id, hash
), shown as (
  insert into message_pictures (message_id, position, conversation_id, picture_id, url, detail)
  select $1, position, $2, kept.id, url, detail from given left join kept on kept.hash = given.hash
)
update messages set picture_count = ${count} where id = $1`;

/** Runs in the transaction that stores the message. */
export async function storePictures(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  { messageId, conversationId }: { messageId: string; conversationId: string },
  pictures: readonly Picture[],
): Promise<void> {
  const ofPicture = (picture: Picture): StatementValue[] => {
    const { url, detail, file } = picture;
    if (file === null) return [null, null, null, null, null, null, null, url, detail];
    const { hash, mediaType, width, height, byteCount } = file;
    return [uuidv7(), hash, mediaType, width, height, byteCount, pictureBytes(picture), null, detail];
  };
  const values = [messageId, conversationId, tenantId, userId, ...pictures.flatMap(ofPicture)];
  await transaction.query({ text: storeSql(pictures.length), values });
}

/** $1 tenant, $2 user, $3 messages, $4 bytes. Ids of messages rise with time. */
const OF_MESSAGES = `
select shown.message_id as "messageId", shown.url, shown.detail, hash, media_type as "mediaType", width, height, byte_count as "byteCount", bytes
from (
  select message_pictures.*, sum(byte_count) over (order by message_id desc, position) as so_far
  from message_pictures join conversations on conversations.id = conversation_id left join pictures on pictures.id = picture_id
  where message_id = any($3::uuid[]) and conversations.tenant_id = $1 and conversations.user_id = $2
) shown left join pictures on pictures.id = picture_id
where picture_id is null or so_far <= $4
order by shown.message_id, shown.position`;

const FIND = `
select shown.url, media_type as "mediaType", hash, bytes
from message_pictures shown join conversations on conversations.id = conversation_id left join pictures on pictures.id = picture_id
where conversations.tenant_id = $1 and ($2::text is null or conversations.user_id = $2) and message_id = $3 and position = $4`;

type PictureRow = { messageId: string; url: string | null; detail: PictureDetail | null; bytes: Uint8Array } & PictureFile;

function toPicture({ url, detail, bytes, hash, mediaType, width, height, byteCount }: PictureRow): Picture {
  if (url !== null) return { url, detail, file: null };
  return { url: dataUrl(mediaType, bytes), detail, file: { hash, mediaType, width, height, byteCount } };
}

export function makePictureStore(database: Database): PictureStore {
  return {
    async ofMessages({ tenantId, userId }, messageIds, mostBytes) {
      const values = [tenantId, userId, messageIds, mostBytes];
      const rows = await database.query<PictureRow>({ name: "picture-load", text: OF_MESSAGES, values });
      const byMessage = Map.groupBy(rows, ({ messageId }) => messageId);
      return new Map([...byMessage].map(([messageId, ofMessage]) => [messageId, ofMessage.map(toPicture)]));
    },

    async find({ tenantId, userId }, messageId, position) {
      type Row = { url: string | null; mediaType: PictureType; hash: string; bytes: Uint8Array };
      const values = [tenantId, userId, messageId, position];
      const [row] = await database.query<Row>({ name: "picture-find", text: FIND, values });
      if (!row) return null;
      const { url, mediaType, hash, bytes } = row;
      return url === null ? { url, mediaType, hash, bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) } : { url };
    },
  };
}
