/*
 * Goal: the members are objects like any other: kubectl lists them, shows a failover, changes a
 * role and gets the reason of a refusal; readiness follows a change of the role, and the process of
 * a removed member logs the removal and exits.
 * Method: a real kubectl and three real processes, one of them killed while it leads.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Kubectl } from '../support/drivers/kubectl.ts'
import type { MemberProcess } from '../support/drivers/process-cluster.ts'
import { ProcessCluster } from '../support/drivers/process-cluster.ts'
import { until as untilIn } from '../support/tools/until.ts'

const kubectl = Kubectl.find()

/** A line of the table: name, role, leader, term, lag, ready, version, age. */
type Row = {
  readonly name: string
  readonly role: string
  readonly leader: boolean
  readonly term: number
  readonly ready: boolean
}

function rowOf(line: string): Row | null {
  const [name = '', role = '', leader, term, , ready] = line.split(/ +/)
  if (!/^n\d$/.test(name)) return null
  return { name, role, leader: leader === 'true', term: Number(term), ready: ready === 'true' }
}

void describe('cluster members as kubectl objects', () => {
  let cluster: ProcessCluster

  before(async () => {
    // Long election timeouts: on a busy machine a premature election would change the requested
    // leader.
    const config = { 'election-timeout': '1s', 'heartbeat-interval': '100ms' }
    cluster = await ProcessCluster.start({ members: 3, config })
  })
  after(() => cluster.remove())

  const ok = async (...args: readonly string[]): Promise<string> => {
    const result = await kubectl.run(cluster.kubeconfig, args)
    assert.equal(result.code, 0, `kubectl ${args.join(' ')}\n${result.stderr}${result.stdout}`)
    return result.stdout
  }

  const rows = async (context: string): Promise<readonly Row[]> => {
    const lines = (await ok('--context', context, 'get', 'members')).split('\n')
    return lines.map(rowOf).filter((row) => row !== null)
  }

  /** Waits; a timeout prints the table of members as each member returns it. */
  function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
    return untilIn(what, holds, async () => {
      const shown = await Promise.all(
        cluster.members.map(({ name }) =>
          kubectl.run(cluster.kubeconfig, ['--context', name, 'get', 'members']),
        ),
      )
      return shown.map(({ stdout, stderr }) => stdout + stderr).join('\n')
    })
  }

  const named = (name: string): MemberProcess =>
    cluster.members.find((member) => member.name === name) ?? assert.fail(`there is ${name}`)

  /** Returns whether this member reports all members as ready, and one of them as leader. */
  const allReadyAt = async (context: string): Promise<boolean> => {
    const all = await rows(context)
    return (
      all.length === 3 && all.every(({ ready }) => ready) && all.filter(({ leader }) => leader).length === 1
    )
  }

  void test('get members has columns for role, leader and health, and explain describes the role', async () => {
    await until('all are ready', () => allReadyAt('n1'))
    const [head] = (await ok('get', 'members')).split('\n')
    assert.match(head ?? '', /^NAME +ROLE +LEADER +TERM +LAG +READY +VERSION +AGE$/)
    const wide = await ok('get', 'mem', '-o', 'wide')
    assert.match(wide, /PHASE +PEER ADDRESS +CLIENT ADDRESS\n/)
    assert.match(
      await ok('api-resources', '--api-group=cluster.k8s.io'),
      /^members +mem +cluster\.k8s\.io\/v1 +false +Member$/m,
    )
    assert.match(await ok('explain', 'members.spec.role'), /a Voter is promoted once it has caught up/)
  })

  void test('get members -w shows a failover', async () => {
    await until('all are ready', () => allReadyAt('n1'))
    const leader = (await rows('n1')).find((row) => row.leader) ?? assert.fail('there is a leader')
    const others = cluster.members.filter(({ name }) => name !== leader.name)
    const context = others[0]?.name ?? assert.fail('there are others')
    const { lines, child } = kubectl.follow(cluster.kubeconfig, [
      '--context',
      context,
      'get',
      'members',
      '-w',
    ])
    try {
      await until('the watch shows all members', () => lines.length >= 4)
      const from = lines.length
      const startMs = performance.now()
      assert.equal(await named(leader.name).stop('SIGKILL'), 'SIGKILL')
      const news = (): readonly Row[] =>
        lines
          .slice(from)
          .map(rowOf)
          .filter((row) => row !== null)
      await until('another one leads', () => news().some((row) => row.leader && row.name !== leader.name))
      console.log(`# another leader shown ${Math.round(performance.now() - startMs)} ms after the kill`)
      await until('the killed leader is not ready', () =>
        news().some((row) => row.name === leader.name && !row.leader && !row.ready),
      )
      named(leader.name).start()
      await until(
        'it is ready again',
        () => news().findLast(({ name }) => name === leader.name)?.ready === true,
      )
      // Skips rows of the old leader: its last status may have arrived after it was killed.
      const next = news().find((row) => row.leader && row.name !== leader.name)
      assert.ok(next !== undefined && next.term > leader.term, 'in a later term')
      for (const line of lines) console.log(`# ${line}`)
    } finally {
      child.kill()
    }
    await Promise.all(cluster.members.map((member) => member.waitReady()))
  })

  void test('patching a role changes it, and readiness follows', async () => {
    await until('all are ready', () => allReadyAt('n1'))
    const follower = (await rows('n1')).find((row) => !row.leader) ?? assert.fail('there is a follower')
    const patch = (role: string): Promise<string> =>
      ok('patch', 'member', follower.name, '--type=merge', '-p', JSON.stringify({ spec: { role } }))
    assert.match(await patch('Learner'), /patched/)
    const role = async (): Promise<string | undefined> =>
      (await rows('n2')).find(({ name }) => name === follower.name)?.role
    assert.equal(await role(), 'Learner')
    // A learner whose role is set to Learner is ready once it has caught up.
    await until('all are ready, the learner too', () => allReadyAt('n1'))
    await named(follower.name).waitReady()
    assert.match(await patch('Learner'), /patched \(no change\)/)
    await patch('Voter')
    await until('it votes again', async () => (await role()) === 'Voter')
    await named(follower.name).waitReady()
  })

  void test('an invalid change is refused with its reason, and a dry run changes nothing', async () => {
    const wrong = await kubectl.run(cluster.kubeconfig, [
      ...['patch', 'member', 'n1', '--type=merge', '-p', '{"spec":{"role":"King"}}'],
    ])
    assert.equal(wrong.code, 1)
    assert.match(wrong.stderr, /spec\.role: Unsupported value: "King"/)
    const before = await ok('get', 'members', '-o', 'name')
    assert.match(await ok('delete', 'member', 'n1', '--dry-run=server'), /deleted \(server dry run\)/)
    assert.equal(await ok('get', 'members', '-o', 'name'), before)
  })

  const holders = async (): Promise<readonly string[]> => {
    const selector = ['-l', 'k8s.io/component=kube-apiserver']
    const path = '-o=jsonpath={.items[*].spec.holderIdentity}'
    const shown = await ok('--context', 'n1', '-n', 'kube-system', 'get', 'leases', ...selector, path)
    return shown.split(' ').map((holder) => holder.replace(/_.*/, ''))
  }

  void test('deleting a member object removes the member and its lease, and its process logs that and exits', async () => {
    await until('all are ready', () => allReadyAt('n1'))
    await until('each has a lease', async () => new Set(await holders()).size === 3)
    const follower = (await rows('n1')).find((row) => !row.leader && row.name !== 'n1')
    const gone = named(follower?.name ?? assert.fail('there is a follower'))
    await ok('--context', 'n1', 'delete', 'member', gone.name)
    assert.equal((await rows('n1')).length, 2)
    await until('its process ends', () => !gone.running)
    assert.match(gone.currentLog(), /removed/)
    await until('it has no lease', async () => (await holders()).length === 2)
    assert.ok(!(await holders()).includes(gone.name))
  })
})
