// The SMSC of the tests, on the package `smpp`: node smsc.js '{"password": "secret"}'
//
// It prints `listening PORT`, and then each event as a line of JSON; with `log`, it appends the events to
// this file too. A line of JSON on its standard input changes what it does:
//
//   password       what a client must present
//   receipts       the state that receipts have, such as DELIVRD, or null for no receipts
//   receipt_style  "tlv" (parameters), "text", "ucs2" (a text in UCS-2), or "data" (a text in data_sm)
//   receipt_id     how receipts write ids: "same", "padded" (with zeros and in capitals), "other" or "none"
//   status         the status of all messages, such as 11
//   throttle       how many of the next messages get the status ESME_RTHROTTLED
//   accept         how many messages come before `throttle`
//   drop           how many of the next messages end the connection, without a response
//   silent         whether messages get no response
//   deaf           whether enquire_link gets no response
//   delay          how many milliseconds responses take
//   enquire        whether it sends enquire_link, and a command that no client knows
//   late           the id of a message for which whoever binds next gets a receipt
//   malformed      whether a delivery is sent that cannot be read
//   unbind         whether it ends the session
'use strict';

const fs = require('fs');
const readline = require('readline');
const smpp = require('smpp');

const settings = Object.assign(
    { accept: 0, throttle: 0, drop: 0, status: 0, delay: 0, receipt_style: 'tlv', receipt_id: 'same' },
    JSON.parse(process.argv[2] || '{}'),
);
const sessions = new Set();
let messages = 0;
let open = 0;

function record(event, details) {
    const line = JSON.stringify(Object.assign({ event }, details)) + '\n';
    process.stdout.write(line);
    if (settings.log) {
        fs.appendFileSync(settings.log, line);
    }
}

function takes(counter) {
    if (settings[counter] > 0) {
        settings[counter] -= 1;
        return true;
    }
    return false;
}

// What the message says, whichever way its parts are marked.
function read(pdu) {
    const content = pdu.message_payload || pdu.short_message || { message: '' };
    const header = (content.udh || []).find((element) => element[0] === 0);
    const [reference, total, part] = header
        ? [header[2], header[3], header[4]]
        : [pdu.sar_msg_ref_num, pdu.sar_total_segments, pdu.sar_segment_seqnum];
    return {
        from: pdu.source_addr,
        source: [pdu.source_addr_ton, pdu.source_addr_npi],
        to: pdu.destination_addr,
        destination: [pdu.dest_addr_ton, pdu.dest_addr_npi],
        text: content.message.toString(),
        coding: pdu.data_coding,
        reference: pdu.user_message_reference,
        parts: total === undefined ? undefined : { reference, total, part },
        receipt: pdu.registered_delivery,
        validity: pdu.validity_period,
        payload: Boolean(pdu.message_payload),
    };
}

function receipt(session, pdu, id, state = settings.receipts) {
    const states = { DELIVRD: 2, EXPIRED: 3, DELETED: 4, UNDELIV: 5, ACCEPTD: 6, REJECTD: 8 };
    const ids = { same: id, padded: `000${id.toUpperCase()}`, other: `x${id}`, none: '' };
    const written = ids[settings.receipt_id];
    const fields = {
        source_addr: pdu.destination_addr,
        destination_addr: pdu.source_addr,
        esm_class: smpp.ESM_CLASS.MC_DELIVERY_RECEIPT,
        short_message:
            `id:${written} sub:001 dlvrd:001 submit date:2611230801 done date:2611230802 ` +
            `stat:${state} err:${state === 'DELIVRD' ? '000' : '069'} text:Your code`,
    };
    let command = 'deliver_sm';
    if (settings.receipt_style === 'tlv') {
        fields.receipted_message_id = written;
        fields.message_state = states[state];
        fields.short_message = '';
    } else if (settings.receipt_style === 'ucs2') {
        fields.data_coding = 8;
    } else if (settings.receipt_style === 'data') {
        command = 'data_sm';
        fields.message_payload = fields.short_message;
        delete fields.short_message;
    }
    session[command](fields, (response) => {
        record('receipt', { id, status: response.command_status, command: response.command });
    });
}

function submitted(session, pdu) {
    const message = read(pdu);
    let status = settings.status;
    if (settings.throttle > 0 && !takes('accept')) {
        settings.throttle -= 1;
        status = smpp.ESME_RTHROTTLED;
    }
    messages += 1;
    open += 1;
    const id = `m-${messages}`;
    const dropped = takes('drop');
    record('submit', Object.assign(message, { id, status, open, dropped }));
    if (dropped) {
        open -= 1;
        session.destroy();
    } else if (!settings.silent) {
        setTimeout(() => {
            open -= 1;
            session.send(pdu.response({ command_status: status, message_id: id }));
            if (settings.receipts && status === 0 && pdu.registered_delivery) {
                receipt(session, pdu, id);
            }
        }, settings.delay);
    }
}

function bind(session, pdu) {
    const wrong = pdu.password !== settings.password;
    const status = wrong ? smpp.ESME_RINVPASWD : 0;
    record('bind', { command: pdu.command, system_id: pdu.system_id, status });
    session.send(pdu.response({ command_status: status, system_id: 'smsc' }));
    if (wrong) {
        session.close();
    } else if (settings.late) {
        const id = settings.late;
        settings.late = null;
        receipt(session, { destination_addr: '1', source_addr: '2' }, id, 'DELIVRD');
    }
}

function serve(session) {
    sessions.add(session);
    session.socket.setNoDelay(true);
    session.on('bind_transceiver', (pdu) => bind(session, pdu));
    session.on('bind_transmitter', (pdu) => bind(session, pdu));
    session.on('submit_sm', (pdu) => submitted(session, pdu));
    session.on('generic_nack', (pdu) => record('nack', { status: pdu.command_status }));
    session.on('enquire_link', (pdu) => {
        record('enquire_link', {});
        if (!settings.deaf) {
            session.send(pdu.response());
        }
    });
    session.on('enquire_link_resp', () => record('enquire_link_resp', {}));
    session.on('unbind', (pdu) => {
        record('unbind', {});
        session.send(pdu.response());
        session.close();
    });
    session.on('unbind_resp', () => session.close());
    session.on('error', (error) => record('error', { message: String(error) }));
    session.on('close', () => {
        sessions.delete(session);
        record('close', {});
    });
}

function change(line) {
    Object.assign(settings, JSON.parse(line));
    for (const session of sessions) {
        if (settings.enquire) {
            session.enquire_link();
            session.query_sm({ message_id: 'm-1' });
        }
        if (settings.malformed) {
            // The header of a deliver_sm, and half of its body.
            session.socket.write(Buffer.from('00000014000000050000000000000063000101ff', 'hex'));
        }
        if (settings.unbind) {
            session.unbind();
        }
    }
    Object.assign(settings, { enquire: false, malformed: false, unbind: false });
    record('changed', {});
}

const tls = settings.key
    ? { key: fs.readFileSync(settings.key), cert: fs.readFileSync(settings.certificate) }
    : {};
const server = smpp.createServer(tls, serve);
server.on('tlsClientError', () => record('tls_failed', {}));
server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`listening ${server.address().port}\n`);
});
// When the test ends, so does its SMSC.
readline
    .createInterface({ input: process.stdin })
    .on('line', change)
    .on('close', () => process.exit(0));
