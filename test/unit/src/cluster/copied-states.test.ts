/*
 * Goal: a copy of a state is no second witness for it: with one member that is silently wrong, however often others copied
 * it, no member that is right is ever condemned; and once copies are confirmed, a cluster is as watchful as any.
 * Method: histories told by name, then at random with seeds: members apply, fall behind, install, rot, restart and report
 * late, with the decisions and records of the program and a state that is only right or wrong.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../raft/base/random.ts'
import { History, randomTurn } from '../../../support/state-history.ts'

/** Those members miss what comes now. */
function without(history: History, ids: readonly number[], act: () => void): void {
  for (const id of ids) history.member(id).isUp = false
  act()
  for (const id of ids) history.member(id).restart()
}

function copied(history: History, from: number, to: number): void {
  assert.ok(history.copy(history.member(from), history.member(to)), `${from} gives its state to ${to}`)
}

/** Everything was well so far, then member 1 goes wrong, and some miss it. */
function wrongWithout(history: History, ids: readonly number[]): void {
  history.advance(50)
  history.talk()
  without(history, ids, () => {
    history.advance(20)
    history.member(1).isToErr = true
    history.advance(30)
  })
}

void test('a wrong leader and a follower that lagged and took its state do not outvote the third', () => {
  const history = new History(3)
  wrongWithout(history, [3])
  copied(history, 1, 3)
  for (let time = 0; time < 3; time++) {
    history.advance(10)
    assert.deepEqual(history.talk(), ['split', 'split', 'split'])
  }
  const blind = new History(3, { blind: true })
  wrongWithout(blind, [3])
  copied(blind, 1, 3)
  blind.advance(10)
  assert.deepEqual(
    blind.talk(),
    ['majority', 'minority', 'majority'],
    'what would be if copies were witnesses',
  )
})

void test('nor do the copies of a copy, nor those of a member that was mended since', () => {
  const chain = new History(5)
  wrongWithout(chain, [3, 4])
  copied(chain, 1, 3)
  copied(chain, 3, 4)
  chain.advance(10)
  assert.deepEqual(new Set(chain.talk()), new Set(['split']))

  const mended = new History(5)
  wrongWithout(mended, [2, 3, 4])
  for (const to of [2, 3, 4]) copied(mended, 1, to)
  Object.assign(mended.member(1), { isWrong: false, descent: [{ by: 5, after: 0, upTo: 100 }], samples: [] })
  mended.advance(10)
  assert.deepEqual(new Set(mended.talk()), new Set(['split']))
})

void test('a wrong copy of a right member is condemned by the others', () => {
  const history = new History(3)
  history.advance(50)
  without(history, [3], () => history.advance(50))
  copied(history, 1, 3)
  history.member(3).isToErr = true
  history.advance(10)
  assert.deepEqual(history.talk(), ['majority', 'majority', 'minority'])
})

void test('copies that others confirmed are witnesses: also after all of them restarted', () => {
  const history = new History(3)
  history.advance(50)
  without(history, [3], () => history.advance(50))
  copied(history, 1, 3)
  assert.deepEqual(history.member(3).descent, [{ by: 1, after: 0, upTo: 100 }])
  history.advance(10)
  assert.deepEqual(history.talk(), ['agree', 'agree', 'agree'])
  assert.deepEqual(history.member(3).descent, [])
  for (const member of history.members) member.restart()
  history.member(2).isToErr = true
  history.advance(10)
  assert.deepEqual(history.talk(), ['majority', 'minority', 'majority'])
})

void test('what was confirmed before a copy was made is not counted against it', () => {
  const history = new History(3)
  history.advance(50)
  history.talk()
  without(history, [3], () => {
    history.advance(50)
    history.talk()
  })
  copied(history, 1, 3)
  assert.deepEqual(history.member(3).descent, [], 'member 2 had it too')
})

void test('a cluster built by copies of its first member watches itself as soon as all have it', () => {
  const history = new History(3)
  without(history, [2, 3], () => history.advance(50))
  for (const to of [2, 3]) copied(history, 1, to)
  history.advance(10)
  assert.deepEqual(history.talk(), ['agree', 'agree', 'agree'])
  assert.deepEqual(
    history.members.map(({ descent }) => descent.length),
    [0, 0, 0],
  )
  history.member(1).isToErr = true
  history.advance(10)
  assert.deepEqual(history.talk(), ['minority', 'majority', 'majority'], 'also the first itself')
})

void test('copies that had one state with the judged member since are witnesses of what went wrong later', () => {
  const history = new History(5)
  without(history, [2, 3, 4, 5], () => history.advance(50))
  for (const to of [2, 3, 4]) copied(history, 1, to)
  history.member(5).isUp = false
  history.advance(10)
  history.talk()
  assert.equal(history.member(2).descent.length, 1, 'the fifth is missing: nothing is proven')
  history.member(1).isToErr = true
  history.advance(10)
  assert.equal(history.talk()[0], 'minority')
})

void test('an original and its copy mend a third whose disk rotted', () => {
  const history = new History(3)
  history.advance(50)
  without(history, [3], () => history.advance(50))
  history.member(2).distrust()
  copied(history, 1, 3)
  assert.equal(history.copy(history.member(1), history.member(2)), true, 'it is not known yet what 3 has')
  history.member(2).distrust()
  history.advance(10)
  history.talk()
  assert.equal(history.member(3).descent.length, 1, 'two that are one prove nothing')
  copied(history, 1, 2)
  history.advance(10)
  history.talk()
  assert.deepEqual([...history.member(2).descent, ...history.member(3).descent], [])
})

void test('what was wrong and is trimmed away is held against nobody: laggards get a state', () => {
  const history = new History(3)
  wrongWithout(history, [3])
  without(history, [3], () => {
    assert.deepEqual(history.talk().slice(0, 2), ['split', 'split'])
    assert.equal(history.copy(history.member(2), history.member(3)), false)
    history.forget()
    history.advance(10)
    assert.deepEqual(history.talk().slice(0, 2), ['agree', 'agree'])
  })
  copied(history, 2, 3)
  history.advance(10)
  assert.deepEqual(history.talk(), ['agree', 'agree', 'agree'])
  history.member(1).isToErr = true
  history.advance(10)
  assert.equal(history.talk()[0], 'minority', 'what goes wrong later is found')
})

void test('a member that went wrong and stayed behind gets the state of two that agree since', () => {
  const history = new History(3)
  history.member(3).isToErr = true
  history.advance(4)
  without(history, [1], () => undefined)
  without(history, [3], () => {
    history.advance(100)
    history.talk()
  })
  Object.assign(history.member(3), { samples: [{ index: 4, featureLevel: 1, digest: 'f'.repeat(32) }] })
  history.talk()
  copied(history, 2, 3)
  history.advance(10)
  assert.deepEqual(history.talk(), ['agree', 'agree', 'agree'])
})

void test('a member that is wrong while the others are right is condemned, whatever was before', () => {
  let late = 0
  for (let seed = 1; seed <= 300; seed++) {
    const random = new SeededRandom(seed)
    const history = new History(random.chance(0.5) ? 3 : 5)
    for (let turn = 0; turn < 60; turn++) randomTurn(history, random, () => undefined)
    for (const member of history.members) {
      if (!member.isUp) member.restart()
      history.catchUp(member)
    }
    history.advance(5)
    history.talk()
    if (!history.members.every(({ isTrusted, descent }) => isTrusted && descent.length === 0)) continue
    const wrong = random.pick(history.members)
    wrong.isToErr = true
    history.advance(5)
    if (random.chance(0.5)) {
      history.talk()
      assert.ok(!wrong.isTrusted, `seed ${seed}`)
      continue
    }
    late++
    history.forget()
    history.talk()
    assert.ok(wrong.isTrusted, `seed ${seed}: nothing was wrong any more when it was compared`)
    wrong.isToErr = true
    history.advance(5)
    history.talk()
    assert.ok(!wrong.isTrusted, `seed ${seed}: wrong again`)
  }
  assert.ok(late > 30, `${late} times`)
})

/** @returns how often a right member was condemned, and how often the wrong one was */
function play(seed: number, blind: boolean): { readonly right: number; readonly wrong: number } {
  const random = new SeededRandom(seed)
  const history = new History(random.chance(0.5) ? 3 : 5, { blind })
  const spoiledAt = 10 + random.below(60)
  const told = { right: 0, wrong: 0 }
  for (let turn = 0; turn < 150; turn++) {
    if (turn === spoiledAt) history.member(1).isToErr = true
    randomTurn(history, random, (member, kind) => {
      if (kind === 'minority') told[member.wasWrong ? 'wrong' : 'right']++
    })
  }
  return told
}

void test('with one silently wrong origin no right member is ever condemned', () => {
  let [found, blindly] = [0, 0]
  for (let seed = 1; seed <= 500; seed++) {
    const { right, wrong } = play(seed, false)
    assert.equal(right, 0, `seed ${seed}`)
    found += wrong
    blindly += play(seed, true).right
  }
  assert.ok(found > 50, `the wrong one was found ${found} times`)
  assert.ok(blindly > 0, `copies as witnesses would have condemned ${blindly} right ones`)
})
