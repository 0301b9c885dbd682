import type { Clock } from '../../base/clock.ts'
import { tooManyRequests } from '../api/errors/standard-errors.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { bearerToken } from '../auth/bearer-token.ts'
import { notRecognized } from '../auth/credentials.ts'
import type { AuthenticationMethod, Recognition } from '../auth/credentials.ts'
import { GROUP_JOINING, JOIN_TOKEN_EXTRA } from '../auth/user.ts'
import type { JoinService } from './join-service.ts'
import { parseJoinToken } from './join-token.ts'
import type { JoinToken } from './join-token.ts'
import { limits } from '../config/limits.ts'
import { fromStore } from '../registry/shared/store-error-mapping.ts'
import { TokenBucket } from './token-bucket.ts'

type TokenLookup = Pick<JoinService, 'isKnown' | 'isKnownAnywhere'>

/** How long to wait for another member: the token may have been made there a moment ago. */
const lookMsMax = 5000

/**
 * Authenticates holders of a join token, which may join and nothing else. Looking up a token that
 * is not known here costs a request to the leader, so a token bucket limits wrong ones.
 */
export function joinTokens(tokens: TokenLookup, clock: Clock): AuthenticationMethod {
  const wrong = new TokenBucket({ most: limits.wrongJoinTokensMax, eachMs: limits.wrongJoinTokenMs, clock })
  const look = async (token: JoinToken): Promise<Recognition> => {
    if (!wrong.take()) throw tooManyRequests(1, 'too many wrong join tokens, please try again later')
    const isKnown = await fromStore(tokens.isKnownAnywhere(token, clock.monotonicMs() + lookMsMax))
    if (!isKnown) return { kind: 'rejected', reason: 'the join token is not known' }
    wrong.giveBack()
    return holder(token)
  }
  return {
    name: 'join-token',
    recognize: (credentials) => {
      const text = bearerToken(credentials.authorization)
      const token = text === null ? null : parseJoinToken(text)
      if (token === null) return notRecognized
      return tokens.isKnown(token) ? holder(token) : look(token)
    },
  }
}

function holder({ id }: JoinToken): Recognition {
  const user: UserInfo = {
    name: `system:joining:${id}`,
    uid: '',
    groups: [GROUP_JOINING],
    extra: { [JOIN_TOKEN_EXTRA]: [id] },
  }
  return { kind: 'user', user }
}
