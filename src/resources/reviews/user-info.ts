import type { JsonObject } from '../../api/json.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import { mapOf, struct, text, texts } from '../../api/schema/build.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { extraValueSchema } from './extra-value.ts'

/** @param version of the authentication group */
export function userInfoSchema(version: 'v1' | 'v1beta1'): ObjectSchema {
  return struct(`authentication.${version}.UserInfo`, 'Identity of a user.', {
    username: text(1, 'Name of the user.'),
    uid: text(2, 'UID of the user, unique over time.'),
    groups: texts(3, 'Groups of the user.'),
    extra: mapOf(4, extraValueSchema, 'Extra attributes of the user.'),
  })
}

/** Empty fields are omitted. */
export function userInfoObject({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  }
}
