import type { ListSchema } from '../../api/schema/schema.ts'

/** Values of what else is known about a user: in protobuf a message of its own. */
export const extraValueSchema: ListSchema = { type: 'list', items: { type: 'string' }, inMessage: true }
