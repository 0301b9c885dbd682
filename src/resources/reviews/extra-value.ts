import type { ListSchema } from '../../api/schema/schema.ts'

/** The extra values of a user: a message of its own in protobuf. */
export const extraValueSchema: ListSchema = { type: 'list', items: { type: 'string' }, inMessage: true }
